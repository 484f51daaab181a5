import { compare, search, SEARCH_RULE } from '#libs/projections';
import { Resources } from '#libs/resources';
import { handlerOf, Id, OneOf, Operation, PageInput, Text } from '#libs/rpc';
import { petitions } from '../petitions/index.js';
import { STATUSES } from './post.js';
import { listedPostSchema, posts, updatesOf } from './posts.js';

@Operation({
  name: 'post.list-posts',
  summary: 'List posts',
  answers: listedPostSchema,
  list: true,
})
export class ListPosts extends PageInput('name') {
  @OneOf(STATUSES, { optional: true })
  status?: string;

  @Id({ optional: true, description: 'Only the updates of this petition.' })
  petitionId?: string;

  @Text({ max: 200, optional: true, description: `Part of the name or the title. ${SEARCH_RULE}` })
  q?: string;

  @OneOf(['content'], {
    optional: true,
    description: 'Includes fields that are left out by default because they are long.',
  })
  include?: 'content';
}

export const ListPostsHandler = handlerOf(ListPosts, [Resources], async (query, resources) => {
  const { organizationId, status, petitionId, q } = query;
  if (petitionId !== undefined) await resources.require(petitions, organizationId, petitionId);
  return resources.list(posts, query, [
    compare('status = ?', status),
    petitionId === undefined ? undefined : updatesOf(petitionId),
    search(['name', 'title'], q),
  ]);
});
