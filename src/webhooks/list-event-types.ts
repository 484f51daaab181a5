import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { allEventTypes } from '#libs/modules';
import { Input, Operation, type Page, recordSchema } from '#libs/rpc';

type EventTypeRecord = { type: string; recordType: string };

@Operation({
  name: 'webhook.list-event-types',
  summary: 'List event types',
  description: 'Returns all types on one page.',
  answers: recordSchema({
    type: { type: 'string', example: 'PetitionSigned' },
    recordType: { type: 'string', example: 'signature' },
  }),
  list: true,
})
export class ListEventTypes extends Input {}

@QueryHandler(ListEventTypes)
export class ListEventTypesHandler implements IQueryHandler<ListEventTypes> {
  execute(): Promise<Page<EventTypeRecord>> {
    const records = allEventTypes().map(({ type, streamType }) => ({ type, recordType: streamType }));
    return Promise.resolve({ records, pagination: { cursor: null, hasMore: false } });
  }
}
