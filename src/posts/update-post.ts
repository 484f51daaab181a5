import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { changedFields, Commands } from '#libs/commands';
import { Id, Operation } from '#libs/rpc';
import { PostFieldsInput } from './post-fields.js';
import { postRecord, type PostRecord, postSchema } from './post-record.js';
import { post, type PostEvent, type PostFields, standingPost } from './post.js';

@Operation({
  method: 'POST',
  name: 'post.update-post',
  object: 'post',
  summary: 'Change a post',
  description: 'Only the fields given are changed; `null` clears an optional one.',
  answers: postSchema,
})
export class UpdatePost extends PostFieldsInput {
  @Id()
  postId!: string;
}

@CommandHandler(UpdatePost)
export class UpdatePostHandler implements ICommandHandler<UpdatePost> {
  constructor(private readonly commands: Commands) {}

  async execute(command: UpdatePost): Promise<PostRecord> {
    const { context, organizationId, postId, ...given } = command;
    const changed = await this.commands.change(post, command, postId, (state): PostEvent[] => {
      const data = changedFields<PostFields>(standingPost(state), given);
      return data ? [{ type: 'PostUpdated', data }] : [];
    });
    return postRecord(organizationId, postId, changed);
  }
}
