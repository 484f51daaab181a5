import { deleteHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { deletePost } from './post.js';
import { postIdSchema, posts } from './posts.js';

@Operation({
  name: 'post.delete-post',
  summary: 'Delete a post',
  answers: postIdSchema,
})
export class DeletePost extends RecordInput('postId') {}

export const DeletePostHandler = deleteHandler(DeletePost, posts, deletePost);
