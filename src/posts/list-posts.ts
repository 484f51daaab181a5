import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { compare, search, SEARCH_RULE } from '#libs/projections';
import { type ResourceRecord, Resources } from '#libs/resources';
import { OneOf, Operation, type Page, PageInput, Text } from '#libs/rpc';
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
  @OneOf(['DRAFT', 'PUBLISHED', 'ARCHIVED'], { optional: true })
  status?: string;

  @Text({ max: 200, optional: true, description: `Part of the name or the title. ${SEARCH_RULE}` })
  q?: string;

  @OneOf(['content'], { optional: true, description: 'What is left out otherwise, because it is long.' })
  include?: 'content';
}

@QueryHandler(ListPosts)
export class ListPostsHandler implements IQueryHandler<ListPosts> {
  constructor(private readonly resources: Resources) {}

  execute(query: ListPosts): Promise<Page<ResourceRecord>> {
    const conditions = [compare('status = ?', query.status), search(['name', 'title'], query.q)];
    return this.resources.list(posts, query, conditions);
  }
}
