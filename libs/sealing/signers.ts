import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { originOf, readNote, type SealedTree, type Signature, textOf, treeOf, writeNote } from './note.js';

/**
 * The name of keys that verify the checkpoints of all organizations. Up to version 0.3.0, it was the only name.
 */
const GENERAL_NAME = 'advocacy-api';
/** The algorithm byte of Ed25519 in key ids and verifier keys (C2SP signed-note). */
const ED25519 = Buffer.of(1);
/** The PKCS #8 encoding of an Ed25519 private key without its 32 bytes (RFC 8410, section 7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
/** The length of an Ed25519 SubjectPublicKeyInfo without its 32 bytes. */
const SPKI_PREFIX_LENGTH = 12;

/** A note with valid signatures of ours. */
export type SignedTree = SealedTree & {
  note: string;
  /** Whether all current keys have signed it. */
  isSignedByAll: boolean;
};

/**
 * The verifier keys of a replaced key and its successor, with the replaced key's signature: see `succession`.
 */
export type Succession = { from: string; to: string; signature: string };

/** All current signing keys. The first one is the primary key, whose verifier key auditors get. */
export class Signers {
  private readonly keys: readonly Key[];

  /** @param seeds 32 bytes each. Duplicates are ignored. */
  constructor(seeds: readonly [Buffer, ...Buffer[]]) {
    const different = seeds.filter((seed, n) => seeds.findIndex((other) => other.equals(seed)) === n);
    this.keys = different.map((seed) => new Key(seed));
  }

  /** The verifier key for the checkpoints of all organizations. It is public. */
  get verifierKey(): string {
    return this.keys[0]!.verifierKey(GENERAL_NAME);
  }

  /** The verifier key for one organization, named after the origin, as standard tools require. */
  verifierKeyOf(organizationId: string): string {
    return this.keys[0]!.verifierKey(originOf(organizationId));
  }

  /** The verifier keys of the current and the previous key; undefined if there is only one. */
  get successors(): { from: string; to: string } | undefined {
    const [present, before] = this.keys;
    return before && { from: before.verifierKey(GENERAL_NAME), to: present!.verifierKey(GENERAL_NAME) };
  }

  /**
   * A statement for an organization's history that the current key replaces the previous one, signed by the
   * previous one.
   */
  succession(organizationId: string): Succession | undefined {
    const { successors } = this;
    if (!successors) return undefined;
    const { from, to } = successors;
    // The first line is not an origin, so the statement cannot pass for a checkpoint.
    const statement = `advocacy-api signing key\n${organizationId}\n${from}\n${to}\n`;
    return { from, to, signature: this.keys[1]!.sign(statement).toString('base64') };
  }

  /** The checkpoint as a signed note, with two signatures per key: one for each of its names. */
  signCheckpoint(tree: SealedTree): string {
    const text = textOf(tree);
    // The name is not part of the signed text, so one signature serves both names.
    const signatures = this.keys.flatMap((key) => {
      const bytes = key.sign(text);
      return namesOf(tree).map((name) => ({ name, keyId: key.idOf(name), bytes }));
    });
    return writeNote({ text, signatures });
  }

  /**
   * Reads one of our checkpoints. Undefined if none of the keys has signed it, or if a signature of ours is
   * invalid.
   */
  open(note: string): SignedTree | undefined {
    const { text, signatures } = readNote(note) ?? {};
    const tree = text === undefined ? undefined : treeOf(text);
    if (!text || !signatures || !tree) return undefined;
    const names = namesOf(tree);
    const own = this.keys.map((key) => ({
      key,
      signatures: signatures.filter(
        ({ name, keyId }) => names.includes(name) && keyId.equals(key.idOf(name)),
      ),
    }));
    if (own.every(({ signatures }) => signatures.length === 0)) return undefined;
    if (!own.every(({ key, signatures }) => key.verifies(signatures, text))) return undefined;
    return {
      ...tree,
      note,
      isSignedByAll: own.every(({ signatures }) => signatures.length === names.length),
    };
  }

  /** Whether it is a complete checkpoint that other keys have signed, and not an altered one. */
  isOfOthers(note: string): boolean {
    const { text, signatures = [] } = readNote(note) ?? {};
    const isWhole = text !== undefined && treeOf(text) !== undefined && signatures.length > 0;
    return isWhole && !this.marks.some((mark) => note.includes(mark));
  }

  /**
   * For each key, the beginning of its signature line in every note. It finds notes that a key has not signed.
   */
  get marks(): string[] {
    // A base64 character has six bits, so the first five depend only on the key id.
    return this.keys.map(
      (key) => `\n— ${GENERAL_NAME} ${key.idOf(GENERAL_NAME).toString('base64').slice(0, 5)}`,
    );
  }
}

function namesOf({ organizationId }: SealedTree): string[] {
  return [originOf(organizationId), GENERAL_NAME];
}

/** An Ed25519 key. Its id depends on the key and the name that it signs with. */
class Key {
  private readonly privateKey: KeyObject;
  private readonly publicKey: KeyObject;
  private readonly publicBytes: Buffer;

  constructor(seed: Buffer) {
    this.privateKey = createPrivateKey({
      key: Buffer.concat([PKCS8_PREFIX, seed]),
      format: 'der',
      type: 'pkcs8',
    });
    this.publicKey = createPublicKey(this.privateKey);
    this.publicBytes = this.publicKey.export({ format: 'der', type: 'spki' }).subarray(SPKI_PREFIX_LENGTH);
  }

  /** `<name>+<key id>+<base64>` (C2SP signed-note). */
  verifierKey(name: string): string {
    const key = Buffer.concat([ED25519, this.publicBytes]).toString('base64');
    return `${name}+${this.idOf(name).toString('hex')}+${key}`;
  }

  idOf(name: string): Buffer {
    const digest = createHash('sha256').update(`${name}\n`).update(ED25519).update(this.publicBytes).digest();
    return digest.subarray(0, 4);
  }

  sign(text: string): Buffer {
    return sign(null, Buffer.from(text), this.privateKey);
  }

  /** Whether all signatures are valid. Duplicates are verified once. */
  verifies(signatures: readonly Signature[], text: string): boolean {
    const different = new Set(signatures.map(({ bytes }) => bytes.toString('base64')));
    return [...different].every((encoded) =>
      verify(null, Buffer.from(text), this.publicKey, Buffer.from(encoded, 'base64')),
    );
  }
}
