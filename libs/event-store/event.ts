import { v7 as uuidv7 } from 'uuid';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** Every event's data is an object. Other data was written to the database by something else. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An event in the terms of the domain. `personal` is the data that an erasure must remove. */
export type DomainEvent = {
  readonly type: string;
  readonly data: JsonObject;
  readonly personal?: JsonObject | null;
};

export type Actor = { readonly type: 'api-key' | 'user' | 'system' | 'public'; readonly id: string | null };

export type Metadata = { readonly actor: Actor; readonly requestId: string };

/**
 * Encrypts a value of the event's personal data with the key of its subject, for storage in a projection. After the
 * subject is erased, it cannot be decrypted. The same value with the same name always results in the same bytes.
 */
export type Seal = (event: RecordedEvent, name: string, value: string) => Buffer;

/** An event as stored in the log. `personal` is null if it has no personal data or its subject was erased. */
export type RecordedEvent<Event extends DomainEvent = DomainEvent> = Event & {
  readonly position: number;
  readonly organizationId: string;
  readonly streamType: string;
  readonly streamId: string;
  readonly version: number;
  readonly eventId: string;
  readonly schema: number;
  readonly subjectId: string | null;
  /** The stored form of `personal`, which is kept after an erasure. */
  readonly encryptedPersonal: Buffer | null;
  readonly metadata: Metadata;
  readonly recordedAt: Date;
  /** SHA-256 over the stored event: `digest.ts`. */
  readonly digest: Buffer;
};

/**
 * A deterministic stream id, in the form of all others (UUIDv7), for streams that exist once per thing.
 *
 * @param hash at least 20 bytes of a hash that identifies the thing.
 */
export function streamIdOf(hash: Buffer): string {
  return uuidv7({ msecs: 0, random: hash.subarray(0, 16), seq: hash.readUInt32BE(16) });
}
