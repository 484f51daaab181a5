import { type Projection, RecordTable, replayable, schemaOf } from '#libs/projections';
import { postRecord } from './post-record.js';
import { isStanding, post, type PostEvent } from './post.js';

const table = new RecordTable(
  post,
  'posts',
  { name: { type: 'text', index: true }, title: { type: 'text' }, status: { type: 'text' } },
  (state) => (isStanding(state) ? { name: state.name, title: state.title, status: state.status } : undefined),
);

export const postsProjection: Projection<PostEvent> = {
  name: 'posts',
  version: 1,
  handles: ['PostCreated', 'PostUpdated', 'PostPublished', 'PostArchived', 'PostDeleted'],
  tables: table.definition,
  apply: (events, transaction) => table.apply(events, transaction),
};

/** Posts out of an exported history. */
export const replayablePosts = replayable('post', post, (organizationId, id, folded) =>
  isStanding(folded.state) ? postRecord(organizationId, id, folded) : undefined,
);

export const POSTS_TABLE = `${schemaOf(postsProjection)}.posts`;
