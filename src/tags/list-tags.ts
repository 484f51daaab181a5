import { search, SEARCH_RULE } from '#libs/projections';
import { listHandler } from '#libs/resources';
import { Operation, PageInput, Text } from '#libs/rpc';
import { tags, tagSchema } from './tags.js';

@Operation({
  method: 'GET',
  name: 'tag.list-tags',
  object: 'tags',
  summary: 'List tags',
  answers: tagSchema,
  list: true,
})
export class ListTags extends PageInput('name') {
  @Text({ max: 200, optional: true, description: `Part of the name. ${SEARCH_RULE}` })
  q?: string;
}

export const ListTagsHandler = listHandler(ListTags, tags, ({ q }) => [search(['name'], q)]);
