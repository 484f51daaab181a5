import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { ReadSource } from '#libs/database';
import { compare, findRows, type RecordRow, search, SEARCH_RULE } from '#libs/projections';
import { listingOf, OneOf, Operation, type Page, PageInput, pageOf, Text } from '#libs/rpc';
import { listedPostSchema, type PostRecord } from './post-record.js';
import { type Post } from './post.js';
import { postPage, POSTS_TABLE, recordFromRow } from './posts.projection.js';

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
  constructor(private readonly reads: ReadSource) {}

  async execute(query: ListPosts): Promise<Page<PostRecord>> {
    const { rows, next } = await findRows<RecordRow<Post>>(this.reads, listingOf(query), {
      table: POSTS_TABLE,
      ...postPage(query.include),
      sortColumns: { name: { column: 'name', type: 'text' } },
      conditions: [compare('status = ?', query.status), search(['name', 'title'], query.q)],
    });
    return pageOf(query, rows.map(recordFromRow), next);
  }
}
