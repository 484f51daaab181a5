import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { type Sql } from '#libs/database';
import { randomBytes } from '#libs/random';
import { KEY, open, PersonalData, SEAL, seal } from './personal-data.js';

/** A row of `key_check`, which describes the master key in use. */
export type KeyCheck = {
  /** For the first master key a keyed hash, which versions up to 0.3.0 compare with theirs. For later ones the id. */
  check_value: Buffer;
  /** The keys for hashing and signing, wrapped. Null while the first master key is in use, from which they are derived. */
  secrets: Buffer | null;
  /** The id of the previous master key, as long as keys may be wrapped with it. */
  replaces: Buffer | null;
};

/**
 * `first`: the database was first used with another master key. `replaced`: its master key was replaced by another one.
 * `unfinished`: the master key is correct, but the previous one is missing, with which keys are still wrapped.
 */
export type KeyringFault = 'first' | 'replaced' | 'unfinished';

/** The length of the prefix of a master key's id in front of each key that it wraps. The first master key uses none. */
const MARK = 8;

/**
 * The master key. It wraps the key of each data subject. It also provides the keyed hashes under which unique
 * keys and idempotency keys are stored, so that these reveal nothing about an email address.
 *
 * A master key can be replaced (`rewrap`), but not the keys for hashing and signing. They are derived from the
 * first master key, and the database stores them wrapped with each later one. Until it is opened for a
 * database, a keyring assumes that its master key is the first one.
 */
export class Keyring {
  /** The configured master key, then the previous one, which may still be in use. */
  private readonly masters: readonly Master[];
  private inUse: Master;
  private secrets: Secrets;
  private isFirst = true;
  readonly personalData = new PersonalData();

  /** @param master 32 bytes. It is never used itself, only keys derived from it (HKDF, RFC 5869). */
  constructor(master: Buffer, previous?: Buffer) {
    this.masters = [master, ...(previous ? [previous] : [])].map((bytes) => new Master(bytes));
    this.inUse = this.masters[0]!;
    this.secrets = this.inUse.secrets;
  }

  /** Opens the keyring for this database. @returns why it cannot decrypt the database's keys, or undefined. */
  async openFor(sql: Sql): Promise<KeyringFault | undefined> {
    await sql.query('INSERT INTO key_check (check_value) VALUES ($1) ON CONFLICT (single) DO NOTHING', [
      this.firstCheck.check_value,
    ]);
    // A replacement of the master key locks the row until all serving instances are known to have the next one.
    const [row] = await sql.query<KeyCheck[]>('SELECT * FROM key_check FOR SHARE');
    return this.open(row!);
  }

  /** Opens the keyring for a database with this row. @returns why it cannot be used there, or undefined. */
  open(row: KeyCheck): KeyringFault | undefined {
    const { check_value: check, secrets, replaces } = row;
    const inUse = this.masters.find(({ id, secrets: own }) =>
      check.equals(secrets ? id : checkValueOf(own.hashing)),
    );
    if (!inUse) return secrets ? 'replaced' : 'first';
    if (replaces && !this.masters.some(({ id }) => id.equals(replaces))) return 'unfinished';
    this.inUse = inUse;
    this.isFirst = !secrets;
    this.secrets = secrets ? readSecrets(open(inUse.wrapping, secrets, 'secrets')) : inUse.secrets;
    return undefined;
  }

  /** The row for a database that has not been used yet. */
  get firstCheck(): KeyCheck {
    return { check_value: checkValueOf(this.secrets.hashing), secrets: null, replaces: null };
  }

  /** The row by which the configured master key replaces the one in use. */
  get nextCheck(): KeyCheck {
    const { id, wrapping } = this.present;
    const { hashing, signingSeed } = this.secrets;
    const secrets = seal(wrapping, Buffer.concat([hashing.export(), signingSeed]), 'secrets');
    return { check_value: id, secrets, replaces: this.inUse.id };
  }

  /** `ahead`: the database still uses the previous master key. `first`: it has never been replaced. */
  get state(): 'ahead' | 'first' | 'later' {
    if (this.inUse !== this.present) return 'ahead';
    return this.isFirst ? 'first' : 'later';
  }

  /** The ids of the master keys, which reveal nothing about them. The configured one is first. */
  get ids(): Buffer[] {
    return this.masters.map(({ id }) => id);
  }

  /** The prefix of everything that the configured master key wraps, unless it is the first one. */
  get mark(): Buffer {
    return markOf(this.present);
  }

  /** The 32-byte seed for signing checkpoints if no other key is configured. */
  get signingSeed(): Buffer {
    return this.secrets.signingSeed;
  }

  /** A new key for a subject, plain and wrapped for storage. */
  newSubjectKey(subjectId: string): { key: Buffer; wrapped: Buffer } {
    const key = randomBytes(KEY);
    return { key, wrapped: this.wrap(key, subjectId) };
  }

  /** @throws if the key was wrapped with another master key or for another subject, or is damaged. */
  unwrap(wrapped: Buffer, subjectId: string): Buffer {
    // A key without a prefix is wrapped with the first master key. GCM shows which of ours that is.
    if (wrapped.length === KEY + SEAL) return this.unwrapOfFirst(wrapped, subjectId);
    const master = this.masters.find((one) => markOf(one).equals(wrapped.subarray(0, MARK)));
    if (!master)
      throw new Error('The key of a person is wrapped with a master key that is not configured here.');
    return open(master.wrapping, wrapped.subarray(MARK), subjectId);
  }

  /** HMAC-SHA-256 over the parts, each preceded by its length so that they cannot be confused. */
  hash(...parts: string[]): Buffer {
    return hash(this.secrets.hashing, parts);
  }

  /** The same key, wrapped with the master key in use. */
  rewrap(wrapped: Buffer, subjectId: string): Buffer {
    return this.wrap(this.unwrap(wrapped, subjectId), subjectId);
  }

  private wrap(key: Buffer, subjectId: string): Buffer {
    const wrapped = seal(this.inUse.wrapping, key, subjectId);
    // Versions up to 0.3.0 can read only this form.
    return this.isFirst ? wrapped : Buffer.concat([markOf(this.inUse), wrapped]);
  }

  private unwrapOfFirst(wrapped: Buffer, subjectId: string): Buffer {
    const [{ wrapping }, before] = [this.present, this.masters[1]];
    try {
      return open(before?.wrapping ?? wrapping, wrapped, subjectId);
    } catch (error) {
      if (!before) throw error;
      return open(wrapping, wrapped, subjectId);
    }
  }

  private get present(): Master {
    return this.masters[0]!;
  }
}

/** Keys that must survive a replacement: unique keys are found by the one, and signatures verified by the other. */
type Secrets = { hashing: KeyObject; signingSeed: Buffer };

class Master {
  readonly id: Buffer;
  readonly wrapping: KeyObject;
  /** Used if this is the first master key. */
  readonly secrets: Secrets;

  constructor(bytes: Buffer) {
    if (bytes.length !== KEY) throw new Error(`The master key must have ${KEY} bytes.`);
    const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', bytes, '', purpose, KEY));
    this.id = derive('id');
    this.wrapping = createSecretKey(derive('subject keys'));
    this.secrets = {
      hashing: createSecretKey(derive('unique keys')),
      signingSeed: derive('checkpoint signatures'),
    };
  }
}

function markOf({ id }: Master): Buffer {
  return id.subarray(0, MARK);
}

function readSecrets(bytes: Buffer): Secrets {
  return { hashing: createSecretKey(bytes.subarray(0, KEY)), signingSeed: bytes.subarray(KEY) };
}

function checkValueOf(hashing: KeyObject): Buffer {
  return hash(hashing, ['key check']);
}

function hash(key: KeyObject, parts: readonly string[]): Buffer {
  const hmac = createHmac('sha256', key);
  for (const part of parts) hmac.update(`${Buffer.byteLength(part)}:`).update(part, 'utf8');
  return hmac.digest();
}
