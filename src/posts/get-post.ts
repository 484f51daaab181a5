import { getHandler } from '#libs/resources';
import { Operation, PastInput } from '#libs/rpc';
import { posts, postSchema } from './posts.js';

@Operation({
  method: 'GET',
  name: 'post.get-post',
  object: 'post',
  summary: 'Retrieve a post',
  answers: postSchema,
})
export class GetPost extends PastInput('postId', 'post') {}

export const GetPostHandler = getHandler(GetPost, posts);
