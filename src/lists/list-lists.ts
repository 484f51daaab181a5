import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { search, SEARCH_RULE } from '#libs/projections';
import { type ResourceRecord, Resources } from '#libs/resources';
import { Operation, type Page, PageInput, Text } from '#libs/rpc';
import { lists, listSchema } from './lists.js';

@Operation({
  method: 'GET',
  name: 'list.list-lists',
  object: 'lists',
  summary: 'List the lists',
  answers: listSchema,
  list: true,
})
export class ListLists extends PageInput('name') {
  @Text({ max: 200, optional: true, description: `Part of the name. ${SEARCH_RULE}` })
  q?: string;
}

@QueryHandler(ListLists)
export class ListListsHandler implements IQueryHandler<ListLists> {
  constructor(private readonly resources: Resources) {}

  execute(query: ListLists): Promise<Page<ResourceRecord>> {
    return this.resources.list(lists, query, [search(['name'], query.q)]);
  }
}
