import { compare, search, SEARCH_RULE } from '#libs/projections';
import { listHandler } from '#libs/resources';
import { OneOf, Operation, PageInput, Text } from '#libs/rpc';
import { STATUSES } from './post.js';
import { listedPostSchema, posts } from './posts.js';

@Operation({
  method: 'GET',
  name: 'post.list-posts',
  object: 'posts',
  summary: 'List posts',
  answers: listedPostSchema,
  list: true,
})
export class ListPosts extends PageInput('name') {
  @OneOf(STATUSES, { optional: true })
  status?: string;

  @Text({ max: 200, optional: true, description: `Part of the name or the title. ${SEARCH_RULE}` })
  q?: string;

  @OneOf(['content'], {
    optional: true,
    description: 'Includes fields that are left out by default because they are long.',
  })
  include?: 'content';
}

export const ListPostsHandler = listHandler(ListPosts, posts, ({ status, q }) => [
  compare('status = ?', status),
  search(['name', 'title'], q),
]);
