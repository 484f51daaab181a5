import { areSame, bytesOf, fromBase64, hexOf, isEd25519, joined, sha256 } from './platform.js';

/** Signed notes, their keys and cosignatures of witnesses (C2SP signed-note and tlog-cosignature). */

/** The kinds of differences, for programs and translations. Each has its own sentences in English. */
export type Code = NoteCode | LineCode | HistoryCode;
type NoteCode = 'key' | 'note' | 'unsigned' | 'signature' | 'successor' | 'cosignatures' | 'proof';
type LineCode = 'line' | 'spelling' | 'foreign' | 'order' | 'personal' | 'digest';
type HistoryCode = TreeCode | 'missing' | 'late' | 'version' | 'unreadable' | 'revived';
type TreeCode = 'tree' | 'root' | 'seals' | 'register';

/** Escapes control and format characters, because the verified text could otherwise rewrite the terminal. */
export const printable = (text: string) =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (one) => `\\u{${one.codePointAt(0)!.toString(16)}}`);

/** A note or a key that proves nothing. The message gives the reason. */
export class NotAuthentic extends Error {
  readonly code: Code;
  constructor(message: string, code: Code = 'note') {
    super(printable(message));
    this.code = code;
  }
}

type Signature = { name: string; keyId: Uint8Array; bytes: Uint8Array };
/** `text` ends with a line feed. It is the signed part. */
export type Note = { text: string; signatures: readonly Signature[] };
export type VerifierKey = { name: string; id: Uint8Array; bytes: Uint8Array; publicKey: Uint8Array };
/** A witness has seen the note and nothing that contradicts it. */
export type Cosignature = { witness: string; time: Date };

/** Algorithm bytes of Ed25519 keys: a signature covers the text, a cosignature covers the time and the text. */
export const ALGORITHMS = { signature: 0x01, cosignature: 0x04 } as const;

const GENERAL_NAME = 'advocacy-api';
/** The log of the checkpoints of all organizations: its name in origins, and its id in the database. */
export const ALL = { name: 'all', id: '00000000-0000-0000-0000-000000000000' } as const;
const KEY_ID = 4;
const TIME = 8;

/** @throws NotAuthentic */
export function readNote(note: string): Note {
  // The last empty line separates text and signatures.
  const end = note.lastIndexOf('\n\n');
  const unsigned = 'it has no empty line before its signatures. Use a file written by history checkpoint';
  if (end < 0) throw notACheckpoint(unsigned);
  const lines = note.slice(end + 2);
  const incomplete = 'its last line does not end with a line feed. Copy the whole checkpoint again';
  if (!lines.endsWith('\n')) throw notACheckpoint(incomplete);
  return { text: note.slice(0, end + 1), signatures: lines.slice(0, -1).split('\n').map(signatureOf) };
}

function signatureOf(line: string): Signature {
  const [, name, encoded] = /^— ([^+\s]+) (\S+)$/.exec(line) ?? [];
  const bytes = fromBase64(encoded);
  if (!name || !bytes || bytes.length <= KEY_ID) throw notACheckpoint(`"${line}" is not a signature line`);
  return { name, keyId: bytes.subarray(0, KEY_ID), bytes: bytes.subarray(KEY_ID) };
}

export const notACheckpoint = (mistake: string, code: Code = 'note') =>
  new NotAuthentic(`This is not a checkpoint: ${mistake}.`, code);

/** Parses `<name>+<key id>+<base64 of the algorithm byte and the public key>`. @throws NotAuthentic */
export function parseVerifierKey(text: string, algorithm: number = ALGORITHMS.signature): VerifierKey {
  const [, name, id, encoded] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? [];
  const bytes = fromBase64(encoded);
  if (!name || !id || bytes?.length !== 33 || bytes[0] !== algorithm) {
    const whose = algorithm === ALGORITHMS.cosignature ? 'the verifier key of a witness' : 'a verifier key';
    const format = 'The format is <name>+<8 digits>+<base64>, on one line.';
    throw new NotAuthentic(`This is not ${whose}. ${format}`, 'key');
  }
  const key = verifierKeyOf(name, bytes);
  if (hexOf(key.id) === id) return key;
  throw new NotAuthentic('The verifier key is incomplete or damaged. Copy it again.', 'key');
}

export function verifierKeyOf(name: string, bytes: Uint8Array): VerifierKey {
  const id = sha256(joined(bytesOf(`${name}\n`), bytes)).subarray(0, KEY_ID);
  return { name, id, bytes, publicKey: bytes.subarray(1) };
}

export const keyName = ({ name, id }: Pick<VerifierKey, 'name' | 'id'>) => `${name}+${hexOf(id)}`;

/** Whether a key may sign for this log: it has the log's name, or signs for all organizations of a server. */
export const isKeyOf = ({ name }: Pick<VerifierKey, 'name'>, origin: string) =>
  name === origin || (name === GENERAL_NAME && origin.startsWith(`${GENERAL_NAME}/`));

/** Whether this key has signed the note. @throws NotAuthentic if a signature is invalid: its forger cannot be trusted. */
export async function isSignedBy({ text, signatures }: Note, key: VerifierKey): Promise<boolean> {
  const own = signaturesBy(signatures, key);
  for (const { bytes } of own) {
    if (await isEd25519(key.publicKey, text, bytes)) continue;
    const reason = `The signature of the key ${keyName(key)} does not match the checkpoint. The text was changed after signing.`;
    throw new NotAuthentic(reason, 'signature');
  }
  return own.length > 0;
}

/** The latest cosignature of this witness; undefined if there is none. @throws NotAuthentic if one is invalid. */
export async function cosignedBy(
  { text, signatures }: Note,
  key: VerifierKey,
): Promise<Cosignature | undefined> {
  let latest: number | undefined;
  for (const { bytes } of signaturesBy(signatures, key)) {
    const seconds =
      bytes.length > TIME ? Number(new DataView(bytes.slice(0, TIME).buffer).getBigUint64(0)) : NaN;
    if (!(await isEd25519(key.publicKey, cosignedText(text, seconds), bytes.subarray(TIME)))) {
      const reason = `The cosignature of the witness ${keyName(key)} is invalid. It belongs to another checkpoint.`;
      throw new NotAuthentic(reason, 'cosignatures');
    }
    latest = Math.max(latest ?? 0, seconds);
  }
  return latest === undefined ? undefined : { witness: keyName(key), time: new Date(1_000 * latest) };
}

/** The text that a witness signs. @param seconds since 1970, UTC. */
export const cosignedText = (text: string, seconds: number) => `cosignature/v1\ntime ${seconds}\n${text}`;

const signaturesBy = (signatures: readonly Signature[], { name, id }: VerifierKey) =>
  signatures.filter((one) => one.name === name && areSame(one.keyId, id));
