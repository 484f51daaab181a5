import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ResourceCommands } from '#libs/resources';
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

@CommandHandler(DeletePost)
export class DeletePostHandler implements ICommandHandler<DeletePost> {
  constructor(private readonly commands: ResourceCommands) {}

  execute(command: DeletePost): Promise<object> {
    return this.commands.end(posts, command, deletePost);
  }
}
