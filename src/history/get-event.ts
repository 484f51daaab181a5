import { EventStore, type RecordedEvent } from '#libs/event-store';
import { handlerOf, isId, Operation, RecordInput, RpcError } from '#libs/rpc';
import { HistoryReads } from './history-reads.js';
import { eventRecord, eventSchema } from './event-record.js';

@Operation({
  name: 'history.get-event',
  summary: 'Retrieve an event',
  answers: eventSchema,
})
export class GetEvent extends RecordInput('eventId') {}

export const GetEventHandler = handlerOf(
  GetEvent,
  [EventStore, HistoryReads],
  async (query, store, reads) => {
    const event = await findEvent(store, query);
    await reads.collect(query, [event.position, event.position]);
    return eventRecord(event);
  },
);

/** @throws RpcError NOT_FOUND */
export async function findEvent(
  store: EventStore,
  { organizationId, eventId }: { organizationId: string; eventId: string },
): Promise<RecordedEvent> {
  const event = isId(eventId) ? await store.findEvent(organizationId, eventId) : undefined;
  if (!event) throw new RpcError('NOT_FOUND', 'Your organization has no event with this eventId.');
  return event;
}
