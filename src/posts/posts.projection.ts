import { type Projection, RecordTable, schemaOf } from '#libs/projections';
import { post, type PostEvent } from './post.js';

const table = new RecordTable(
  post,
  'posts',
  { name: { type: 'text', index: true }, title: { type: 'text' }, status: { type: 'text' } },
  (state) =>
    state.status === 'UNKNOWN' || state.status === 'DELETED'
      ? undefined
      : { name: state.name, title: state.title, status: state.status },
);

export const postsProjection: Projection<PostEvent> = {
  name: 'posts',
  version: 1,
  handles: ['PostCreated', 'PostUpdated', 'PostPublished', 'PostArchived', 'PostDeleted'],
  tables: table.definition,
  apply: (events, transaction) => table.apply(events, transaction),
};

export const POSTS_TABLE = `${schemaOf(postsProjection)}.posts`;
