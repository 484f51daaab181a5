import { getHandler } from '#libs/resources';
import { Operation, PastInput } from '#libs/rpc';
import { posts, postSchema } from './posts.js';

@Operation({
  name: 'post.get-post',
  summary: 'Retrieve a post',
  answers: postSchema,
})
export class GetPost extends PastInput('postId', 'post') {}

export const GetPostHandler = getHandler(GetPost, posts);
