import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto';

/** Signed notes, their keys and cosignatures of witnesses (C2SP signed-note and tlog-cosignature). */

/** A note or a key that proves nothing. The message gives the reason. */
export class NotAuthentic extends Error {}

type Signature = { name: string; keyId: Buffer; bytes: Buffer };

/** `text` ends with a line feed. It is the signed part. */
export type Note = { text: string; signatures: readonly Signature[] };

/** A key that verifies the signatures of a name. `bytes`: the algorithm byte and the public key. */
export type VerifierKey = { name: string; id: Buffer; bytes: Buffer; publicKey: KeyObject };

/** A witness has seen the note and nothing that contradicts it. */
export type Cosignature = { witness: string; time: Date };

/** Algorithm bytes of Ed25519 keys: a signature covers the text, a cosignature covers the time and the text. */
export const ALGORITHMS = { signature: 0x01, cosignature: 0x04 } as const;

/** The SubjectPublicKeyInfo of an Ed25519 key without its 32 bytes (RFC 8410, section 4). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
/** The name of keys that sign the checkpoints of all organizations. */
const GENERAL_NAME = 'advocacy-api';
/** The log of the checkpoints of all organizations: its name in origins, and its id in the database. */
export const ALL = { name: 'all', id: '00000000-0000-0000-0000-000000000000' } as const;
const KEY_ID = 4;
const TIME = 8;

/** @throws NotAuthentic */
export function readNote(note: string): Note {
  // The last empty line separates text and signatures.
  const end = note.lastIndexOf('\n\n');
  if (end < 0)
    throw notACheckpoint(
      'it has no empty line before its signatures. Use a file written by history checkpoint',
    );
  const lines = note.slice(end + 2);
  if (!lines.endsWith('\n'))
    throw notACheckpoint('its last line does not end with a line feed. Copy the whole checkpoint again');
  return { text: note.slice(0, end + 1), signatures: lines.slice(0, -1).split('\n').map(signatureOf) };
}

function signatureOf(line: string): Signature {
  const [, name, encoded] = /^— ([^+\s]+) (\S+)$/.exec(line) ?? [];
  const bytes = encoded === undefined ? undefined : fromBase64(encoded);
  if (!name || !bytes || bytes.length <= KEY_ID) throw notACheckpoint(`"${line}" is not a signature line`);
  return { name, keyId: bytes.subarray(0, KEY_ID), bytes: bytes.subarray(KEY_ID) };
}

/** Parses `<name>+<key id>+<base64 of the algorithm byte and the public key>`. @throws NotAuthentic */
export function parseVerifierKey(text: string, algorithm: number = ALGORITHMS.signature): VerifierKey {
  const [, name, id, encoded] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? [];
  const bytes = encoded === undefined ? undefined : fromBase64(encoded);
  if (!name || !id || bytes?.length !== 33 || bytes[0] !== algorithm) {
    const whose = algorithm === ALGORITHMS.cosignature ? 'the verifier key of a witness' : 'a verifier key';
    throw new NotAuthentic(`This is not ${whose}. The format is <name>+<8 digits>+<base64>, on one line.`);
  }
  if (keyIdOf(name, bytes).toString('hex') !== id) {
    throw new NotAuthentic('The verifier key is incomplete or damaged. Copy it again.');
  }
  const key = Buffer.concat([SPKI_PREFIX, bytes.subarray(1)]);
  return {
    name,
    id: Buffer.from(id, 'hex'),
    bytes,
    publicKey: createPublicKey({ key, format: 'der', type: 'spki' }),
  };
}

/** @param key the algorithm byte and the public key. */
export function keyIdOf(name: string, key: Uint8Array): Buffer {
  return hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), key]), 'buffer').subarray(0, KEY_ID);
}

/** A key's name in messages. The id stands for the public key. */
export function keyName({ name, id }: Pick<VerifierKey, 'name' | 'id'>): string {
  return `${name}+${id.toString('hex')}`;
}

/**
 * Whether this key has signed the note.
 *
 * @throws NotAuthentic if one of its signatures is invalid: its forger cannot be trusted with the rest
 *   either.
 */
export function isSignedBy({ text, signatures }: Note, key: VerifierKey): boolean {
  const own = signaturesBy(signatures, key);
  if (!own.every(({ bytes }) => verify(null, Buffer.from(text), key.publicKey, bytes))) {
    throw new NotAuthentic(
      `The signature of the key ${keyName(key)} does not match the checkpoint. The text was changed after signing.`,
    );
  }
  return own.length > 0;
}

/**
 * The latest cosignature of this witness; undefined if there is none.
 *
 * @throws NotAuthentic if one of its cosignatures is invalid.
 */
export function cosignedBy({ text, signatures }: Note, key: VerifierKey): Cosignature | undefined {
  const times = signaturesBy(signatures, key).map(({ bytes }) => {
    const seconds = bytes.length > TIME ? Number(bytes.readBigUInt64BE()) : NaN;
    const message = Buffer.from(cosignedText(text, seconds));
    if (!verify(null, message, key.publicKey, bytes.subarray(TIME))) {
      throw new NotAuthentic(
        `The cosignature of the witness ${keyName(key)} is invalid. It belongs to another checkpoint.`,
      );
    }
    return seconds;
  });
  if (times.length === 0) return undefined;
  return { witness: keyName(key), time: new Date(1_000 * Math.max(...times)) };
}

/** The text that a witness signs. @param seconds since 1970, UTC. */
export function cosignedText(text: string, seconds: number): string {
  return `cosignature/v1\ntime ${seconds}\n${text}`;
}

function signaturesBy(signatures: readonly Signature[], { name, id }: VerifierKey): Signature[] {
  return signatures.filter((one) => one.name === name && one.keyId.equals(id));
}

/** Whether a key may sign for this log: it has the log's name, or signs for all organizations of a server. */
export function isKeyOf({ name }: Pick<VerifierKey, 'name'>, origin: string): boolean {
  return name === origin || (name === GENERAL_NAME && origin.startsWith(`${GENERAL_NAME}/`));
}

/** A decimal number without leading zeros. Undefined for any other text. */
export function wholeNumber(text: string | undefined): number | undefined {
  const number = text !== undefined && /^(0|[1-9]\d*)$/.test(text) ? Number(text) : NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}

/**
 * Undefined if the text is not the canonical encoding, because Node.js skips characters that it does not know.
 */
export function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

export function notACheckpoint(mistake: string): NotAuthentic {
  return new NotAuthentic(`This is not a checkpoint: ${mistake}.`);
}
