import { given } from '#libs/testing';
import { archivePost, deletePost, NOT_SET_YET, post, type PostEvent, publishPost } from './post.js';

const data = {
  name: 'We did it',
  title: 'We did it',
  description: null,
  imageId: null,
  content: null,
  slug: null,
  ...NOT_SET_YET,
};
const created: PostEvent = { type: 'PostCreated', data };
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
  ['ignores deleting a deleted post', [created, deleted], deletePost, []],
])('%s', (_, events, decision, expected) => {
  given(post, events).when(decision).then(expected);
});

it.each([
  ['archive a draft', [created], archivePost, 'CONFLICT'],
  ['publish a deleted post', [created, deleted], publishPost, 'NOT_FOUND'],
  ['archive an unknown post', [], archivePost, 'NOT_FOUND'],
  ['delete an unknown post', [], deletePost, 'NOT_FOUND'],
])('refuses to %s', (_, events, decision, code) => {
  given(post, events).when(decision).thenThrows(code);
});
