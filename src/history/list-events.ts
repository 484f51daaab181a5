import { EventStore } from '#libs/event-store';
import {
  handlerOf,
  Id,
  Input,
  Integer,
  isId,
  Operation,
  type Page,
  storedRequestId,
  Text,
  Timestamp,
} from '#libs/rpc';
import { eventRecord, type EventRecord, eventSchema } from './event-record.js';
import { HistoryReads } from './history-reads.js';

@Operation({
  name: 'history.list-events',
  summary: 'List events',
  description:
    'Lists events oldest first, in a fixed order: no event ever appears before a position that was already ' +
    'returned. Reads are recorded, too. The first read of an API key in an hour is recorded immediately as ' +
    'a `HistoryRead` event. After the hour, `HistoryReadsCollected` records all its reads with their ' +
    'filters and positions. Filter texts are recorded only as keyed hashes.',
  answers: eventSchema,
  list: true,
})
export class ListEvents extends Input {
  @Integer({ min: 1, max: 1_000, default: 25, description: 'Events per page.' })
  limit!: number;

  @Integer({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    default: 0,
    description: 'Only events after this position. Also accepts `pagination.cursor` of the previous page.',
  })
  after!: number;

  @Text({ max: 200, optional: true, description: 'contact, petition, signature, …' })
  recordType?: string;

  @Id({ optional: true, namesRecord: false })
  recordId?: string;

  @Text({ max: 200, optional: true, example: 'PetitionSigned' })
  type?: string;

  @Text({
    max: 200,
    optional: true,
    description: 'The actor that caused the event, for example an API key.',
  })
  actorId?: string;

  @Text({
    max: 200,
    optional: true,
    description: 'As sent by the client of that request, or as shown in events.',
  })
  requestId?: string;

  @Timestamp({ optional: true })
  occurredAfter?: string;

  @Timestamp({ optional: true })
  occurredBefore?: string;
}

export const ListEventsHandler = handlerOf(
  ListEvents,
  [EventStore, HistoryReads],
  async (query, store, reads) => {
    const { organizationId, after, limit, recordId } = query;
    // Read before the access is recorded, so that paging reaches an end.
    const upTo = await store.horizon();
    if (recordId !== undefined && !isId(recordId)) {
      await reads.collect(query, undefined);
      return page([], false);
    }
    // Events recorded before ids were hashed contain them in plain text.
    const requestId =
      query.requestId === undefined
        ? undefined
        : [query.requestId, storedRequestId(query.requestId, store.keyring)];
    const filter = { ...query, requestId };
    const { events, hasMore } = await store.readHistory(organizationId, { after, upTo }, limit, filter);
    await reads.collect(query, [after + 1, hasMore ? events.at(-1)!.position : upTo]);
    return page(events, hasMore);
  },
);

function page(events: Parameters<typeof eventRecord>[0][], hasMore: boolean): Page<EventRecord> {
  const records = events.map(eventRecord);
  return { records, pagination: { cursor: hasMore ? String(records.at(-1)!.position) : null, hasMore } };
}
