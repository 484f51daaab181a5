import { v7 as uuidv7 } from 'uuid';
import { type Commands } from '#libs/commands';
import { type Decider, type EventStore, type Json, type JsonObject, type Keyring } from '#libs/event-store';
import { hidden, type Input, isId, operationOf, storedRequestId } from '#libs/rpc';

/**
 * Reading the history is itself recorded: one event a request, with what was asked for. Whatever a client may write
 * into a filter could be a person's address, which no erasure would find here: see `recorded`.
 */
export type HistoryAccessEvent = {
  type: 'HistoryRead';
  data: { operation: string; asked: JsonObject };
};

/** No record: nobody folds these. */
export const historyAccess = {
  streamType: 'history-access',
  events: { HistoryRead: true },
} as const satisfies Pick<Decider<never, HistoryAccessEvent>, 'streamType' | 'events'>;

export async function recordAccess(commands: Commands, { keyring }: EventStore, input: Input): Promise<void> {
  const { context, organizationId, ...fields } = input;
  const given = Object.entries(fields as JsonObject).filter(([, value]) => value !== undefined);
  const asked = Object.fromEntries(given.map(([field, value]) => [field, recorded(field, value, keyring)]));
  const operation = operationOf(input.constructor)!.name;
  const event: HistoryAccessEvent = { type: 'HistoryRead', data: { operation, asked } };
  const recordId = uuidv7();
  await commands.run(input, () => ({
    recordId,
    writes: [
      { streamType: historyAccess.streamType, streamId: recordId, expectedVersion: 0, events: [event] },
    ],
  }));
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
