import { search, SEARCH_RULE } from '#libs/projections';
import { listHandler } from '#libs/resources';
import { Operation, PageInput, Text } from '#libs/rpc';
import { lists, listSchema } from './lists.js';

@Operation({
  method: 'GET',
  name: 'list.list-lists',
  object: 'lists',
  summary: 'List lists',
  answers: listSchema,
  list: true,
})
export class ListLists extends PageInput('name') {
  @Text({ max: 200, optional: true, description: `Part of the name. ${SEARCH_RULE}` })
  q?: string;
}

export const ListListsHandler = listHandler(ListLists, lists, ({ q }) => [search(['name'], q)]);
