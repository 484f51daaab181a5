import { getHandler } from '#libs/resources';
import { Id, Input, Operation, Timestamp } from '#libs/rpc';
import { posts, postSchema } from './posts.js';

@Operation({
  method: 'GET',
  name: 'post.get-post',
  object: 'post',
  summary: 'Retrieve a post',
  answers: postSchema,
})
export class GetPost extends Input {
  @Id()
  postId!: string;

  @Timestamp({ optional: true, description: 'Returns the post as it was at this time.' })
  asOf?: string;
}

export const GetPostHandler = getHandler(GetPost, posts);
