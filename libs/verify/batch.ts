import { type Code } from './note.js';
import { HASH, hexOf, writeHex } from './platform.js';
import { leafHash } from './tree.js';

/**
 * Events in the order of their positions, each valid on its own. The columns hold what is compared with other
 * events and with seals. They pass between threads without a copy, and a million events need no million
 * objects.
 */
export type Batch = {
  count: number;
  positions: Float64Array;
  /** The previous position that a line states; only in exports. */
  previous: Float64Array;
  /** Hashes of the leaves, 32 bytes each. */
  leaves: Uint8Array;
  /** Ids, 16 bytes each; zeros if there is no subject. */
  streams: Uint8Array;
  subjects: Uint8Array;
  versions: Int32Array;
  /** Milliseconds since 1970. */
  times: Float64Array;
  marks: Uint8Array;
  /** The mistake in the next event, which ends the batch. */
  mistake: Mistake | null;
};

export type Mistake = { position: number; code: Code; reason: string };

/** The event destroys the key of the contact, API key, suppressed address, request or member of its stream. */
export const ENDS_SUBJECT = 1;
/** The event's personal data cannot be decrypted. */
export const UNREADABLE = 2;
/** The event has readable personal data that no digest covers. */
export const UNPROVED = 4;

export const ENDINGS = new Set([
  'ContactErased',
  'ApiKeyRotated',
  'ApiKeyRevoked',
  'SuppressedAddressErased',
  'SignatureConfirmed',
  'SignatureExpired',
  'SignUpConfirmed',
  'SignUpExpired',
  'InvitationRevoked',
  'MemberRemoved',
]);

export const ID_BYTES = 16;

export function newBatch(capacity: number): Batch {
  return {
    count: 0,
    positions: new Float64Array(capacity),
    previous: new Float64Array(capacity),
    leaves: new Uint8Array(capacity * HASH),
    streams: new Uint8Array(capacity * ID_BYTES),
    subjects: new Uint8Array(capacity * ID_BYTES),
    versions: new Int32Array(capacity),
    times: new Float64Array(capacity),
    marks: new Uint8Array(capacity),
    mistake: null,
  };
}

/** An event that is valid on its own. */
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
 * @param personal what is known of its personal data: UNREADABLE, UNPROVED or 0.
 */
export function addEvent(batch: Batch, event: Event, recordedAt: number, personal: number): void {
  const n = batch.count;
  batch.count += 1;
  batch.positions[n] = event.position;
  batch.previous[n] = event.previousPosition;
  leafHash(event.position, event.digest, batch.leaves, n * HASH);
  writeHex(event.streamId, batch.streams, n * ID_BYTES);
  if (event.subjectId !== null) writeHex(event.subjectId, batch.subjects, n * ID_BYTES);
  batch.versions[n] = event.version;
  batch.times[n] = recordedAt;
  batch.marks[n] = (ENDINGS.has(event.type) ? ENDS_SUBJECT : 0) | personal;
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

export function writeId(bytes: Uint8Array): string {
  return hexOf(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
