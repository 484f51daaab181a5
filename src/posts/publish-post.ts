import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ResourceCommands, type ResourceRecord } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { publishPost } from './post.js';
import { posts, postSchema } from './posts.js';

@Operation({
  method: 'POST',
  name: 'post.publish-post',
  object: 'post',
  summary: 'Publish a post',
  description: 'A draft or an archived post; publishing the published changes nothing.',
  answers: postSchema,
})
export class PublishPost extends Input {
  @Id()
  postId!: string;
}

@CommandHandler(PublishPost)
export class PublishPostHandler implements ICommandHandler<PublishPost> {
  constructor(private readonly commands: ResourceCommands) {}

  execute(command: PublishPost): Promise<ResourceRecord> {
    return this.commands.change(posts, command, publishPost);
  }
}
