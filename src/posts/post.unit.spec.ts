import { given } from '#libs/testing';
import {
  archivePost,
  deletePost,
  post,
  type Post,
  type PostEvent,
  publishOnTime,
  publishPost,
  updatePost,
} from './post.js';

const data = {
  name: 'We did it',
  title: 'We did it',
  description: null,
  imageId: null,
  content: null,
  slug: null,
  petitionId: null,
  publishAt: null,
};
const NOON = '2030-01-01T12:00:00.000Z';
const onTime = (state: Post) => publishOnTime(state, new Date(NOON));
const created: PostEvent = { type: 'PostCreated', data };
const scheduled: PostEvent = { type: 'PostUpdated', data: { publishAt: NOON } };
const postponed: PostEvent = { type: 'PostUpdated', data: { publishAt: '2030-01-01T12:00:01.000Z' } };
const cancelled: PostEvent = { type: 'PostUpdated', data: { publishAt: null } };
const published: PostEvent = { type: 'PostPublished', data: {} };
const archived: PostEvent = { type: 'PostArchived', data: {} };
const deleted: PostEvent = { type: 'PostDeleted', data: {} };

it.each([
  ['publishes a draft', [created], publishPost, [published]],
  ['republishes an archived post', [created, published, archived], publishPost, [published]],
  ['ignores publishing a published post', [created, published], publishPost, []],
  ['archives a published post', [created, published], archivePost, [archived]],
  ['ignores archiving an archived post', [created, published, archived], archivePost, []],
  ['deletes a draft', [created], deletePost, [deleted]],
  ['deletes a published post', [created, published], deletePost, [deleted]],
  ['publishes a draft on time', [created, scheduled], onTime, [published]],
  ['publishes an archived post on time', [created, published, archived, scheduled], onTime, [published]],
  ['publishes no draft that was postponed', [created, scheduled, postponed], onTime, []],
  ['publishes no draft whose time was cancelled', [created, scheduled, cancelled], onTime, []],
  [
    'does not publish again what was published and archived before its time',
    [created, scheduled, published, archived],
    onTime,
    [],
  ],
  ['publishes no deleted post', [created, scheduled, deleted], onTime, []],
  ['ignores deleting a deleted post', [created, deleted], deletePost, []],
])('%s', (_, events, decision, expected) => {
  given(post, events).when(decision).then(expected);
});

it.each([
  ['archive a draft', [created], archivePost, 'CONFLICT'],
  [
    'schedule a published post',
    [created, published],
    (state: Post) => updatePost(state, { publishAt: NOON }),
    'CONFLICT',
  ],
  ['publish a deleted post', [created, deleted], publishPost, 'NOT_FOUND'],
  ['archive an unknown post', [], archivePost, 'NOT_FOUND'],
  ['delete an unknown post', [], deletePost, 'NOT_FOUND'],
])('refuses to %s', (_, events, decision, code) => {
  given(post, events).when(decision).thenThrows(code);
});
