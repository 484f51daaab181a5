import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { type Sql } from '#libs/database';
import { randomBytes } from '#libs/random';
import { KEY, open, SEAL, seal } from './personal-data.js';

/** What `key_check` holds of the master key that is in use. */
export type KeyCheck = {
  /** Of the first one a keyed hash, which versions up to 0.3.0 compare with theirs; of a later one its id. */
  check_value: Buffer;
  /** What hashes and signs, wrapped with the one in use; null while that is the first one, from which they follow. */
  secrets: Buffer | null;
  /** The id of the one before it, while keys may be wrapped with that. */
  replaces: Buffer | null;
};

/**
 * `first`: the master key is not the one that the database was first used with; `replaced`: nor the one that has taken its
 * place; `unfinished`: it is, but the one before it is missing, with which keys are still wrapped.
 */
export type KeyringFault = 'first' | 'replaced' | 'unfinished';

/** Bytes of a master's id that stand before what it wraps, unless it is the first one. */
const MARK = 8;

/**
 * The master key: wraps the key of each data subject, and gives the keyed hashes under which unique keys
 * and idempotency keys are stored, so that they reveal nothing about an email address.
 *
 * A master can be replaced (`rewrap`), what hashes and signs cannot: it follows from the first master, and every later one
 * keeps it wrapped in the database. Until it was opened for a database, a keyring takes its master for the first one.
 */
export class Keyring {
  /** The present one first; the one before it may still be in use. */
  private readonly masters: readonly Master[];
  private inUse: Master;
  private secrets: Secrets;
  private isFirst = true;

  /** @param master 32 bytes; the keys used are derived from it (HKDF, RFC 5869), never itself. */
  constructor(master: Buffer, previous?: Buffer) {
    this.masters = [master, ...(previous ? [previous] : [])].map((bytes) => new Master(bytes));
    this.inUse = this.masters[0]!;
    this.secrets = this.inUse.secrets;
  }

  /** Opens itself for this database. @returns why it cannot be used there: what was encrypted could not be read. */
  async openFor(sql: Sql): Promise<KeyringFault | undefined> {
    await sql.query('INSERT INTO key_check (check_value) VALUES ($1) ON CONFLICT (single) DO NOTHING', [
      this.firstCheck.check_value,
    ]);
    // Whoever replaces the master holds the row until all who serve are known to have the next one.
    const [row] = await sql.query<KeyCheck[]>('SELECT * FROM key_check FOR SHARE');
    return this.open(row!);
  }

  /** Goes by what the database says of its master key. @returns why that cannot be used with this keyring. */
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

  /** The row of a database that this keyring is the first to use. */
  get firstCheck(): KeyCheck {
    return { check_value: checkValueOf(this.secrets.hashing), secrets: null, replaces: null };
  }

  /** The row with which the present master takes the place of the one in use. */
  get nextCheck(): KeyCheck {
    const { id, wrapping } = this.present;
    const { hashing, signingSeed } = this.secrets;
    const secrets = seal(wrapping, Buffer.concat([hashing.export(), signingSeed]), 'secrets');
    return { check_value: id, secrets, replaces: this.inUse.id };
  }

  /** `ahead`: the database goes by the one before the present master; `first`: there was no other yet. */
  get state(): 'ahead' | 'first' | 'later' {
    if (this.inUse !== this.present) return 'ahead';
    return this.isFirst ? 'first' : 'later';
  }

  /** What tells masters apart, and nothing of them; the present one's first. */
  get ids(): Buffer[] {
    return this.masters.map(({ id }) => id);
  }

  /** What everything begins with that the present master wraps, where it is not the first one. */
  get mark(): Buffer {
    return markOf(this.present);
  }

  /** 32 bytes that checkpoints are signed with where no other key is given. */
  get signingSeed(): Buffer {
    return this.secrets.signingSeed;
  }

  /** A fresh key for a subject, and the form in which it may be stored. */
  newSubjectKey(subjectId: string): { key: Buffer; wrapped: Buffer } {
    const key = randomBytes(KEY);
    return { key, wrapped: this.wrap(key, subjectId) };
  }

  /** @throws when it was wrapped with another master, for another subject, or is damaged. */
  unwrap(wrapped: Buffer, subjectId: string): Buffer {
    // Without a mark it is of the first master; which of ours that is, GCM tells.
    if (wrapped.length === KEY + SEAL) return this.unwrapOfFirst(wrapped, subjectId);
    const master = this.masters.find((one) => markOf(one).equals(wrapped.subarray(0, MARK)));
    if (!master)
      throw new Error('The key of a person is wrapped with a master key that is not configured here.');
    return open(master.wrapping, wrapped.subarray(MARK), subjectId);
  }

  /** HMAC-SHA-256 over the parts, told apart by their lengths. */
  hash(...parts: string[]): Buffer {
    return hash(this.secrets.hashing, parts);
  }

  /** The same key, wrapped with the master in use. */
  rewrap(wrapped: Buffer, subjectId: string): Buffer {
    return this.wrap(this.unwrap(wrapped, subjectId), subjectId);
  }

  private wrap(key: Buffer, subjectId: string): Buffer {
    const wrapped = seal(this.inUse.wrapping, key, subjectId);
    // Versions up to 0.3.0 read no other form.
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

/** What must outlive a master: without the one nobody's record would be found again, without the other nothing signed. */
type Secrets = { hashing: KeyObject; signingSeed: Buffer };

class Master {
  readonly id: Buffer;
  readonly wrapping: KeyObject;
  /** Used where this is the first master. */
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
