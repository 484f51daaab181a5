import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Resources } from '#libs/resources';
import { Id, Input, Operation, Timestamp } from '#libs/rpc';
import { lists, listSchema } from './lists.js';

@Operation({
  method: 'GET',
  name: 'list.get-list',
  object: 'list',
  summary: 'Retrieve a list',
  description: 'Its contacts: contact.list-contacts with `listId`.',
  answers: listSchema,
})
export class GetList extends Input {
  @Id()
  listId!: string;

  @Timestamp({ optional: true, description: 'The list as it was at this moment.' })
  asOf?: string;
}

@QueryHandler(GetList)
export class GetListHandler implements IQueryHandler<GetList> {
  constructor(private readonly resources: Resources) {}

  execute(query: GetList): Promise<object> {
    return this.resources.get(lists, query);
  }
}
