import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { allEventTypes } from '#libs/modules';
import { Flag, Input, Operation, type Page, recordSchema } from '#libs/rpc';

type EventTypeRecord = { type: string; recordType: string; internal: boolean };

@Operation({
  name: 'webhook.list-event-types',
  summary: 'List event types',
  description: 'Returns all types on one page, without internal ones.',
  answers: recordSchema({
    type: { type: 'string', example: 'PetitionSigned' },
    recordType: { type: 'string', example: 'signature' },
    internal: {
      type: 'boolean',
      description: 'Whether the event only serves the server itself. Later versions can change such events.',
    },
  }),
  list: true,
})
export class ListEventTypes extends Input {
  @Flag({ default: false, description: 'Whether to include internal types.' })
  internal!: boolean;
}

@QueryHandler(ListEventTypes)
export class ListEventTypesHandler implements IQueryHandler<ListEventTypes> {
  execute({ internal }: ListEventTypes): Promise<Page<EventTypeRecord>> {
    const records = allEventTypes()
      .filter(({ isInternal }) => internal || !isInternal)
      .map(({ type, streamType, isInternal }) => ({ type, recordType: streamType, internal: isInternal }));
    return Promise.resolve({ records, pagination: { cursor: null, hasMore: false } });
  }
}
