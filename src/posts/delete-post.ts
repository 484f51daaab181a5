import { deleteHandler } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { deletePost } from './post.js';
import { postIdSchema, posts } from './posts.js';

@Operation({
  method: 'DELETE',
  name: 'post.delete-post',
  object: 'post',
  summary: 'Delete a post',
  answers: postIdSchema,
})
export class DeletePost extends Input {
  @Id()
  postId!: string;
}

export const DeletePostHandler = deleteHandler(DeletePost, posts, deletePost);
