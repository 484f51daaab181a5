import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { originOf, readNote, type SealedTree, type Signature, textOf, treeOf, writeNote } from './note.js';

/** The name of keys that verify the checkpoints of all organizations; up to 0.3.0 there was no other. */
const GENERAL_NAME = 'advocacy-api';
/** Algorithm byte of Ed25519 in key identifiers and verifier keys (C2SP signed-note). */
const ED25519 = Buffer.of(1);
/** PKCS #8 of an Ed25519 private key up to its 32 bytes (RFC 8410, section 7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
/** SubjectPublicKeyInfo of an Ed25519 public key up to its 32 bytes. */
const SPKI_PREFIX_LENGTH = 12;

/** A note that was found to be signed by us. */
export type SignedTree = SealedTree & {
  note: string;
  /** Whether each signer of today has signed it. */
  isSignedByAll: boolean;
};

/** Verifier keys of which the one has taken the place of the other, and the signature of that one: see `succession`. */
export type Succession = { from: string; to: string; signature: string };

/** All keys that sign checkpoints at a time. The first one is primary: its verifier key is given to auditors. */
export class Signers {
  private readonly keys: readonly Key[];

  /** @param seeds 32 bytes each; one that stands there twice counts once. */
  constructor(seeds: readonly [Buffer, ...Buffer[]]) {
    const different = seeds.filter((seed, n) => seeds.findIndex((other) => other.equals(seed)) === n);
    this.keys = different.map((seed) => new Key(seed));
  }

  /** What verifies the checkpoints of all organizations: public, and all that a verifier needs. */
  get verifierKey(): string {
    return this.keys[0]!.verifierKey(GENERAL_NAME);
  }

  /** What verifies those of one organization, named after their origin, as stock tools want it. */
  verifierKeyOf(organizationId: string): string {
    return this.keys[0]!.verifierKey(originOf(organizationId));
  }

  /** The verifier keys of the present key and the one before it; undefined where there is one alone. */
  get successors(): { from: string; to: string } | undefined {
    const [present, before] = this.keys;
    return before && { from: before.verifierKey(GENERAL_NAME), to: present!.verifierKey(GENERAL_NAME) };
  }

  /** That the present key has taken the place of the one before it, signed by that, for the history of an organization. */
  succession(organizationId: string): Succession | undefined {
    const { successors } = this;
    if (!successors) return undefined;
    const { from, to } = successors;
    // Its first line is no origin: it can be taken for no checkpoint.
    const statement = `advocacy-api signing key\n${organizationId}\n${from}\n${to}\n`;
    return { from, to, signature: this.keys[1]!.sign(statement).toString('base64') };
  }

  /** The checkpoint as a signed note, with two signatures of each key: by both of its names. */
  signCheckpoint(tree: SealedTree): string {
    const text = textOf(tree);
    // The name is not signed: one signature serves both.
    const signatures = this.keys.flatMap((key) => {
      const bytes = key.sign(text);
      return namesOf(tree).map((name) => ({ name, keyId: key.idOf(name), bytes }));
    });
    return writeNote({ text, signatures });
  }

  /** Reads a checkpoint of ours; undefined for one that none of the keys has signed, or with a false signature of one. */
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

  /** Whether it is a whole checkpoint that other keys have signed, and not one that somebody spoiled. */
  isOfOthers(note: string): boolean {
    const { text, signatures = [] } = readNote(note) ?? {};
    const isWhole = text !== undefined && treeOf(text) !== undefined && signatures.length > 0;
    return isWhole && !this.marks.some((mark) => note.includes(mark));
  }

  /** Of each key the beginning of a line that every note has which it signed: finds those that it did not sign. */
  get marks(): string[] {
    // Six bits a letter: the first five are of the key id alone.
    return this.keys.map(
      (key) => `\n— ${GENERAL_NAME} ${key.idOf(GENERAL_NAME).toString('base64').slice(0, 5)}`,
    );
  }
}

/** By what names the checkpoints of an organization are signed. */
function namesOf({ organizationId }: SealedTree): string[] {
  return [originOf(organizationId), GENERAL_NAME];
}

/** An Ed25519 key. Its id follows from it and the name that it signs with. */
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

  /** Whether all of them are right, each of which is asked once, however often it stands there. */
  verifies(signatures: readonly Signature[], text: string): boolean {
    const different = new Set(signatures.map(({ bytes }) => bytes.toString('base64')));
    return [...different].every((encoded) =>
      verify(null, Buffer.from(text), this.publicKey, Buffer.from(encoded, 'base64')),
    );
  }
}
