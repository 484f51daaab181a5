import { compare, search, SEARCH_RULE } from '#libs/projections';
import { listHandler } from '#libs/resources';
import { Operation, PageInput, Text } from '#libs/rpc';
import { views, viewSchema } from './views.js';

@Operation({ name: 'view.list-views', summary: 'List views', answers: viewSchema, list: true })
export class ListViews extends PageInput('name') {
  @Text({ max: 100, optional: true, description: 'Only views of the list of this operation.' })
  operation?: string;

  @Text({ max: 200, optional: true, description: `Part of the name. ${SEARCH_RULE}` })
  q?: string;
}

export const ListViewsHandler = listHandler(ListViews, views, ({ operation, q }) => [
  compare('operation = ?', operation),
  search(['name'], q),
]);
