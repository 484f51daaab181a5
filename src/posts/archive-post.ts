import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { Id, Input, Operation } from '#libs/rpc';
import { postRecord, type PostRecord, postSchema } from './post-record.js';
import { post, archivePost } from './post.js';

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
  constructor(private readonly commands: Commands) {}

  async execute(command: ArchivePost): Promise<PostRecord> {
    const { organizationId, postId } = command;
    const changed = await this.commands.change(post, command, postId, archivePost);
    return postRecord(organizationId, postId, changed);
  }
}
