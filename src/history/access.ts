import { type Decider, type Json, type JsonObject, type Keyring } from '#libs/event-store';
import { hidden, type Input, isId, operationOf, storedRequestId } from '#libs/rpc';

/**
 * Reading the history is itself recorded. Whatever a client may write into a filter could be a person's address, which no
 * erasure would find here: see `recorded`.
 */
export type HistoryAccessEvent = {
  /** What was read and is told at once: see `HistoryReads.record`. */
  type: 'HistoryRead';
  data: Question;
};

/** What one API key read in one hour. */
export type HistoryReadsEvent = {
  type: 'HistoryReadsCollected';
  data: { apiKeyId: string; hour: string; reads: CollectedRead[] };
};

export type Question = { operation: string; asked: JsonObject };

/** Reads that asked the same: how often, and which positions they looked through, each range with both its ends. */
export type CollectedRead = Question & { times: number; positions: [number, number][] };

/** No record: nobody folds these. */
export const historyAccess = {
  streamType: 'history-access',
  events: { HistoryRead: true },
} as const satisfies Pick<Decider<never, HistoryAccessEvent>, 'streamType' | 'events'>;

/** No record either. */
export const historyReads = {
  streamType: 'history-reads',
  events: { HistoryReadsCollected: true },
} as const satisfies Pick<Decider<never, HistoryReadsEvent>, 'streamType' | 'events'>;

/** What a request asks for, as it may be kept. */
export function questionOf(input: Input, keyring: Keyring): Question {
  const { context, organizationId, ...fields } = input;
  const given = Object.entries(fields as JsonObject).filter(([, value]) => value !== undefined);
  const asked = Object.fromEntries(given.map(([field, value]) => [field, recorded(field, value, keyring)]));
  return { operation: operationOf(input.constructor)!.name, asked };
}

/** Positions, numbers and moments: checked to be nothing else. */
const HARMLESS_FIELDS = ['after', 'limit', 'occurredAfter', 'occurredBefore'];
/** Any text may be given for these; the ids that there are say nothing of a person. */
const ID_FIELDS = ['recordId', 'eventId', 'actorId'];

/** What is kept of a value: it itself where it cannot be personal data, else a keyed hash, that one can ask for again. */
function recorded(field: string, value: Json, keyring: Keyring): Json {
  if (HARMLESS_FIELDS.includes(field)) return value;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (ID_FIELDS.includes(field) && isId(text)) return text;
  if (field === 'requestId') return storedRequestId(text, keyring);
  return hidden(keyring.hash('asked', field, text));
}
