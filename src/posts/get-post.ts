import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Resources } from '#libs/resources';
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

  @Timestamp({ optional: true, description: 'The post as it was at this moment.' })
  asOf?: string;
}

@QueryHandler(GetPost)
export class GetPostHandler implements IQueryHandler<GetPost> {
  constructor(private readonly resources: Resources) {}

  execute(query: GetPost): Promise<object> {
    return this.resources.get(posts, query);
  }
}
