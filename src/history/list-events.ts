import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { Id, Input, Integer, isId, Operation, type Page, storedRequestId, Text, Timestamp } from '#libs/rpc';
import { recordAccess } from './access.js';
import { eventRecord, type EventRecord, eventSchema } from './event-record.js';

@Operation({
  method: 'GET',
  name: 'event.list-events',
  object: 'events',
  summary: 'List the events of the history',
  description:
    'Oldest first, in one fixed order: no event ever appears before a position that was handed out. Reading ' +
    'is itself recorded as an event, once a request, with the filters used; of texts given to them only a keyed hash.',
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
    private readonly commands: Commands,
    private readonly store: EventStore,
  ) {}

  async execute(query: ListEvents): Promise<Page<EventRecord>> {
    const { organizationId, after, limit, recordId } = query;
    // Read before the access is recorded: a reader who asks until there is no more comes to an end.
    const upTo = await this.store.horizon();
    await recordAccess(this.commands, this.store, query);
    if (recordId !== undefined && !isId(recordId)) return page([], false);
    // In clear in events of before ids were hashed.
    const requestId =
      query.requestId === undefined
        ? undefined
        : [query.requestId, storedRequestId(query.requestId, this.store.keyring)];
    const filter = { ...query, requestId };
    const { events, hasMore } = await this.store.readHistory(organizationId, { after, upTo }, limit, filter);
    return page(events, hasMore);
  }
}

function page(events: Parameters<typeof eventRecord>[0][], hasMore: boolean): Page<EventRecord> {
  const records = events.map(eventRecord);
  return { records, pagination: { cursor: hasMore ? String(records.at(-1)!.position) : null, hasMore } };
}
