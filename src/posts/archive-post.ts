import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ResourceCommands, type ResourceRecord } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { archivePost } from './post.js';
import { posts, postSchema } from './posts.js';

@Operation({
  method: 'POST',
  name: 'post.archive-post',
  object: 'post',
  summary: 'Archive a post',
  description: 'A published post; it can be published again.',
  answers: postSchema,
  reasons: ['POST_NOT_PUBLISHED'],
})
export class ArchivePost extends Input {
  @Id()
  postId!: string;
}

@CommandHandler(ArchivePost)
export class ArchivePostHandler implements ICommandHandler<ArchivePost> {
  constructor(private readonly commands: ResourceCommands) {}

  execute(command: ArchivePost): Promise<ResourceRecord> {
    return this.commands.change(posts, command, archivePost);
  }
}
