import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { EventStore } from '#libs/event-store';
import { Id, Input, Integer, isId, Operation, type Page, storedRequestId, Text, Timestamp } from '#libs/rpc';
import { eventRecord, type EventRecord, eventSchema } from './event-record.js';
import { HistoryReads } from './history-reads.js';

@Operation({
  method: 'GET',
  name: 'history.list-events',
  object: 'events',
  summary: 'List the events of the history',
  description:
    'Oldest first, in one fixed order: no event ever appears before a position that was handed out. Reading ' +
    'is itself recorded: the first of an API key in an hour at once as an event `HistoryRead`, all of the hour, with their ' +
    'filters and the positions looked through, when it is over, as `HistoryReadsCollected`; of texts given as filters only ' +
    'a keyed hash.',
  answers: eventSchema,
  list: true,
})
export class ListEvents extends Input {
  @Integer({ min: 1, max: 1_000, default: 25, description: 'Events a page.' })
  limit!: number;

  @Integer({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    default: 0,
    description: 'Only events after this position. `pagination.cursor` of the page before may be given here.',
  })
  after!: number;

  @Text({ max: 200, optional: true, description: 'contact, petition, signature, …' })
  recordType?: string;

  @Id({ optional: true, namesRecord: false })
  recordId?: string;

  @Text({ max: 200, optional: true, example: 'PetitionSigned' })
  type?: string;

  @Id({ optional: true, namesRecord: false, description: 'Who caused it: an API key, say.' })
  actorId?: string;

  @Text({
    max: 200,
    optional: true,
    description: 'As the client of that request gave it, or as events show it.',
  })
  requestId?: string;

  @Timestamp({ optional: true })
  occurredAfter?: string;

  @Timestamp({ optional: true })
  occurredBefore?: string;
}

@QueryHandler(ListEvents)
export class ListEventsHandler implements IQueryHandler<ListEvents> {
  constructor(
    private readonly store: EventStore,
    private readonly reads: HistoryReads,
  ) {}

  async execute(query: ListEvents): Promise<Page<EventRecord>> {
    const { organizationId, after, limit, recordId } = query;
    // Read before the access is recorded: a reader who asks until there is no more comes to an end.
    const upTo = await this.store.horizon();
    if (recordId !== undefined && !isId(recordId)) {
      await this.reads.collect(query, undefined);
      return page([], false);
    }
    // In clear in events of before ids were hashed.
    const requestId =
      query.requestId === undefined
        ? undefined
        : [query.requestId, storedRequestId(query.requestId, this.store.keyring)];
    const filter = { ...query, requestId };
    const { events, hasMore } = await this.store.readHistory(organizationId, { after, upTo }, limit, filter);
    await this.reads.collect(query, [after + 1, hasMore ? events.at(-1)!.position : upTo]);
    return page(events, hasMore);
  }
}

function page(events: Parameters<typeof eventRecord>[0][], hasMore: boolean): Page<EventRecord> {
  const records = events.map(eventRecord);
  return { records, pagination: { cursor: hasMore ? String(records.at(-1)!.position) : null, hasMore } };
}
