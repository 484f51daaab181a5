import { type Projection, type RecordRow, RecordTable, replayable, schemaOf } from '#libs/projections';
import { postRecord, type PostRecord } from './post-record.js';
import { isStanding, post, type Post, type PostEvent } from './post.js';

const table = new RecordTable(
  post,
  'posts',
  {
    name: { type: 'text', index: true, search: true },
    title: { type: 'text', search: true },
    status: { type: 'text', index: true },
  },
  (state) => (isStanding(state) ? { name: state.name, title: state.title, status: state.status } : undefined),
  { apart: 'content' },
);

export const postsProjection: Projection<PostEvent> = {
  name: 'posts',
  version: 2,
  handles: ['PostCreated', 'PostUpdated', 'PostPublished', 'PostArchived', 'PostDeleted'],
  tables: table.definition,
  apply: (events, transaction) => table.apply(events, transaction),
  get snapshots() {
    return table.snapshots(this);
  },
};

/** Posts out of an exported history. */
export const replayablePosts = replayable('post', post, (organizationId, id, folded) =>
  isStanding(folded.state) ? postRecord(organizationId, id, folded) : undefined,
);

export const POSTS_TABLE = `${schemaOf(postsProjection)}.posts`;

export const postPage = (include?: 'content') => table.page(include);

/** Without content unless the row was read with it. */
export function recordFromRow(row: RecordRow<Post>): PostRecord {
  return postRecord(row.organization_id, row.id, table.recordOf(row));
}
