import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { Id, Input, Operation } from '#libs/rpc';
import { postRecord, type PostRecord, postSchema } from './post-record.js';
import { post, publishPost } from './post.js';

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
  constructor(private readonly commands: Commands) {}

  async execute(command: PublishPost): Promise<PostRecord> {
    const { organizationId, postId } = command;
    const changed = await this.commands.change(post, command, postId, publishPost);
    return postRecord(organizationId, postId, changed);
  }
}
