import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Id, Input, Operation } from '#libs/rpc';
import { type ListRecord, listSchema } from './list-record.js';
import { ListsTable } from './lists.projection.js';

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
}

@QueryHandler(GetList)
export class GetListHandler implements IQueryHandler<GetList> {
  constructor(private readonly lists: ListsTable) {}

  execute({ organizationId, listId }: GetList): Promise<ListRecord> {
    return this.lists.get(organizationId, listId);
  }
}
