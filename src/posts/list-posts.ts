import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { compare, findPage, OneOf, Operation, type Page, PageInput, search, Text } from '#libs/rpc';
import { recordOfRow, type RecordRow } from '#libs/projections';
import { postRecord, type PostRecord, postSchema } from './post-record.js';
import { type Post } from './post.js';
import { POSTS_TABLE } from './posts.projection.js';

@Operation({
  method: 'GET',
  name: 'post.list-posts',
  object: 'posts',
  summary: 'List posts',
  answers: postSchema,
  list: true,
})
export class ListPosts extends PageInput('name') {
  @OneOf(['DRAFT', 'PUBLISHED', 'ARCHIVED'], { optional: true })
  status?: string;

  @Text({ max: 200, optional: true, description: 'Part of the name or the title.' })
  q?: string;
}

@QueryHandler(ListPosts)
export class ListPostsHandler implements IQueryHandler<ListPosts> {
  constructor(private readonly source: DataSource) {}

  async execute(query: ListPosts): Promise<Page<PostRecord>> {
    const { records, pagination } = await findPage<RecordRow<Post>>(this.source, query, {
      table: POSTS_TABLE,
      sortColumns: { name: { column: 'name', type: 'text' } },
      conditions: [compare('status = ?', query.status), search(['name', 'title'], query.q)],
    });
    return {
      records: records.map((row) => postRecord(query.organizationId, row.id, recordOfRow(row))),
      pagination,
    };
  }
}
