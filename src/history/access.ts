import { type Decider, type Json, type JsonObject, type Keyring } from '#libs/event-store';
import { hidden, type Input, isId, operationOf, storedRequestId } from '#libs/rpc';

/**
 * Reading the history is itself recorded. Filters can contain anything, including a person's address, which
 * an erasure would not find here. See `recorded`.
 */
export type HistoryAccessEvent = {
  /** A read that is recorded immediately. See `HistoryReads.record`. */
  type: 'HistoryRead';
  data: Question;
};

export type HistoryReadsEvent = {
  type: 'HistoryReadsCollected';
  data: {
    apiKeyId: string;
    /** The beginning of the hour, RFC 3339. */
    hour: string;
    reads: CollectedRead[];
  };
};

export type Question = {
  operation: string;
  /** The parameters of the request. */
  asked: JsonObject;
};

export type CollectedRead = Question & {
  /** The number of identical reads. */
  times: number;
  /** The ranges of positions that they covered, including both ends. */
  positions: [number, number][];
};

/** Not a record, so it has no state. */
export const historyAccess = {
  streamType: 'history-access',
  events: { HistoryRead: true },
  isInternal: true,
} as const satisfies Pick<Decider<never, HistoryAccessEvent>, 'streamType' | 'events' | 'isInternal'>;

/** Not a record, either. */
export const historyReads = {
  streamType: 'history-reads',
  events: { HistoryReadsCollected: true },
  isInternal: true,
} as const satisfies Pick<Decider<never, HistoryReadsEvent>, 'streamType' | 'events' | 'isInternal'>;

/** The parameters of a request in the form in which they are recorded. */
export function questionOf(input: Input, keyring: Keyring): Question {
  const { context, organizationId, ...fields } = input;
  const given = Object.entries(fields as JsonObject).filter(([, value]) => value !== undefined);
  const asked = Object.fromEntries(given.map(([field, value]) => [field, recorded(field, value, keyring)]));
  return { operation: operationOf(input.constructor)!.name, asked };
}

/** Positions, numbers and times, which are validated as such. */
const HARMLESS_FIELDS = ['after', 'limit', 'occurredAfter', 'occurredBefore'];
/** Filters that accept any text. Ids of existing records are not personal data. */
const ID_FIELDS = ['recordId', 'eventId', 'actorId'];

/**
 * The value itself if it cannot be personal data; otherwise a keyed hash, which can be compared with later
 * values.
 */
function recorded(field: string, value: Json, keyring: Keyring): Json {
  if (HARMLESS_FIELDS.includes(field)) return value;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (ID_FIELDS.includes(field) && isId(text)) return text;
  if (field === 'requestId') return storedRequestId(text, keyring);
  return hidden(keyring.hash('asked', field, text));
}
