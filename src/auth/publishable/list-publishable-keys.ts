import { search, SEARCH_RULE } from '#libs/projections';
import { listHandler } from '#libs/resources';
import { Operation, PageInput, Text } from '#libs/rpc';
import { publishableKeys, publishableKeySchema } from './publishable-keys.js';

@Operation({
  name: 'publishable-key.list-publishable-keys',
  scope: 'api-key:read',
  summary: 'List publishable keys',
  answers: publishableKeySchema,
  list: true,
})
export class ListPublishableKeys extends PageInput('name') {
  @Text({ max: 200, optional: true, description: `Part of the name. ${SEARCH_RULE}` })
  q?: string;
}

export const ListPublishableKeysHandler = listHandler(ListPublishableKeys, publishableKeys, ({ q }) => [
  search(['name'], q),
]);
