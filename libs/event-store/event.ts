import { v7 as uuidv7 } from 'uuid';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** No event is written without: whoever finds other data has met what somebody else has put into the database. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What happened, in the domain's words. `personal` is what erasure must be able to take away. */
export type DomainEvent = {
  readonly type: string;
  readonly data: JsonObject;
  readonly personal?: JsonObject | null;
};

/** Who caused an event. */
export type Actor = { readonly type: 'api-key' | 'user' | 'system' | 'public'; readonly id: string | null };

export type Metadata = { readonly actor: Actor; readonly requestId: string };

/**
 * Encrypts a value of the event's personal data with the key of its subject, for a read model to hold: nothing opens
 * it once the subject was erased. The same value under the same name is always encrypted to the same bytes.
 */
export type Seal = (event: RecordedEvent, name: string, value: string) => Buffer;

/** An event as the log holds it. `personal` is null where there is none and where its subject was erased. */
export type RecordedEvent<Event extends DomainEvent = DomainEvent> = Event & {
  readonly position: number;
  readonly organizationId: string;
  readonly streamType: string;
  readonly streamId: string;
  readonly version: number;
  readonly eventId: string;
  readonly schema: number;
  readonly subjectId: string | null;
  /** The stored form of `personal`, which stays after an erasure. */
  readonly encryptedPersonal: Buffer | null;
  readonly metadata: Metadata;
  readonly recordedAt: Date;
  /** SHA-256 over the stored event: `digest.ts`. */
  readonly digest: Buffer;
};

/**
 * The id of a stream of which there is one for each of something, whoever makes it, in the form of all others.
 *
 * @param hash 20 bytes at least of what it is one for.
 */
export function streamIdOf(hash: Buffer): string {
  return uuidv7({ msecs: 0, random: hash.subarray(0, 16), seq: hash.readUInt32BE(16) });
}
