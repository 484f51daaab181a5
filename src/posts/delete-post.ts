import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { Id, Input, Operation } from '#libs/rpc';
import { postIdSchema } from './post-record.js';
import { deletePost, post } from './post.js';

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

@CommandHandler(DeletePost)
export class DeletePostHandler implements ICommandHandler<DeletePost> {
  constructor(private readonly commands: Commands) {}

  async execute(command: DeletePost): Promise<{ postId: string }> {
    const { postId } = command;
    await this.commands.end(post, command, postId, deletePost);
    return { postId };
  }
}
