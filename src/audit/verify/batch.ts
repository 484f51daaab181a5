import { HASH } from './sha256.js';
import { leafHash } from './tree.js';

/**
 * Events in the order of their positions, each right by itself, as columns: what is compared with other events and with
 * seals. So they pass between threads without a copy, and a million of them are no million objects.
 */
export type Batch = {
  count: number;
  positions: Float64Array;
  /** What a line names as the position before it; of an export alone. */
  previous: Float64Array;
  /** Hashes of the leaves, 32 bytes each. */
  leaves: Uint8Array;
  /** Of a stream's and a subject's id four words each; zeros where there is no subject. */
  streams: Uint32Array;
  subjects: Uint32Array;
  versions: Int32Array;
  /** Milliseconds since 1970. */
  times: Float64Array;
  marks: Uint8Array;
  /** What is wrong with the event that follows, the last one. */
  mistake: Mistake | null;
};

export type Mistake = { position: number; reason: string };

/** The event destroys the key of the person, API key, suppressed address, request or member whose stream it is in. */
export const ENDS_SUBJECT = 1;
/** Its personal data cannot be read. */
export const UNREADABLE = 2;

export const ENDINGS = new Set([
  'ContactErased',
  'ApiKeyRotated',
  'ApiKeyRevoked',
  'SuppressedAddressErased',
  'SignatureConfirmed',
  'SignatureExpired',
  'InvitationRevoked',
  'MemberRemoved',
]);

export const WORDS = 4;

export function newBatch(capacity: number): Batch {
  return {
    count: 0,
    positions: new Float64Array(capacity),
    previous: new Float64Array(capacity),
    leaves: new Uint8Array(capacity * HASH),
    streams: new Uint32Array(capacity * WORDS),
    subjects: new Uint32Array(capacity * WORDS),
    versions: new Int32Array(capacity),
    times: new Float64Array(capacity),
    marks: new Uint8Array(capacity),
    mistake: null,
  };
}

/** An event that is right by itself. */
export type Event = {
  position: number;
  previousPosition: number;
  /** UUIDs in lower case. */
  streamId: string;
  subjectId: string | null;
  version: number;
  type: string;
  /** Hexadecimal. */
  digest: string;
};

/**
 * Adds an event to a batch that has room for it.
 *
 * @param recordedAt milliseconds since 1970.
 * @param isUnreadable whether it has personal data that nobody can read.
 */
export function addEvent(batch: Batch, event: Event, recordedAt: number, isUnreadable: boolean): void {
  const n = batch.count;
  batch.count += 1;
  batch.positions[n] = event.position;
  batch.previous[n] = event.previousPosition;
  leafHash(event.position, event.digest, batch.leaves, n * HASH);
  readId(event.streamId, batch.streams, n * WORDS);
  if (event.subjectId !== null) readId(event.subjectId, batch.subjects, n * WORDS);
  batch.versions[n] = event.version;
  batch.times[n] = recordedAt;
  batch.marks[n] = (ENDINGS.has(event.type) ? ENDS_SUBJECT : 0) | (isUnreadable ? UNREADABLE : 0);
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

/** The words of a UUID in lower case. */
function readId(id: string, words: Uint32Array, at: number): void {
  words[at] = (fourDigits(id, 0) << 16) | fourDigits(id, 4);
  words[at + 1] = (fourDigits(id, 9) << 16) | fourDigits(id, 14);
  words[at + 2] = (fourDigits(id, 19) << 16) | fourDigits(id, 24);
  words[at + 3] = (fourDigits(id, 28) << 16) | fourDigits(id, 32);
}

function fourDigits(id: string, at: number): number {
  return (digit(id, at) << 12) | (digit(id, at + 1) << 8) | (digit(id, at + 2) << 4) | digit(id, at + 3);
}

function digit(id: string, at: number): number {
  const code = id.charCodeAt(at);
  return code < 0x3a ? code - 0x30 : code - 0x57;
}

/** The UUID of these words. */
export function writeId(words: Uint32Array, at: number): string {
  const digits = Array.from(words.subarray(at, at + WORDS), (word) =>
    word.toString(16).padStart(8, '0'),
  ).join('');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
