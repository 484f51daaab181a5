import { given } from '#libs/testing';
import { archivePost, deletePost, post, type PostEvent, publishPost } from './post.js';

const data = {
  name: 'We did it',
  title: 'We did it',
  description: null,
  imageId: null,
  content: null,
  slug: null,
};
const created: PostEvent = { type: 'PostCreated', data };
const published: PostEvent = { type: 'PostPublished', data: {} };
const archived: PostEvent = { type: 'PostArchived', data: {} };
const deleted: PostEvent = { type: 'PostDeleted', data: {} };

it.each([
  ['publishes a draft', [created], publishPost, [published]],
  ['publishes the archived again', [created, published, archived], publishPost, [published]],
  ['leaves the published alone', [created, published], publishPost, []],
  ['archives the published', [created, published], archivePost, [archived]],
  ['leaves the archived alone', [created, published, archived], archivePost, []],
  ['deletes a draft', [created], deletePost, [deleted]],
  ['deletes the published', [created, published], deletePost, [deleted]],
  ['leaves the deleted alone', [created, deleted], deletePost, []],
])('%s', (_, events, decision, expected) => {
  given(post, events).when(decision).then(expected);
});

it.each([
  ['archive a draft', [created], archivePost, 'CONFLICT'],
  ['publish what was deleted', [created, deleted], publishPost, 'NOT_FOUND'],
  ['archive what never was', [], archivePost, 'NOT_FOUND'],
  ['delete what never was', [], deletePost, 'NOT_FOUND'],
])('refuses to %s', (_, events, decision, code) => {
  given(post, events).when(decision).thenThrows(code);
});
