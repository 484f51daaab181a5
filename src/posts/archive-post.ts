import { changeHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { archivePost } from './post.js';
import { posts, postSchema } from './posts.js';

@Operation({
  name: 'post.archive-post',
  summary: 'Archive a post',
  description: 'Archives a published post. It can be published again.',
  answers: postSchema,
  reasons: ['POST_NOT_PUBLISHED'],
})
export class ArchivePost extends RecordInput('postId') {}

export const ArchivePostHandler = changeHandler(ArchivePost, posts, archivePost);
