import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ResourceCommands } from '#libs/resources';
import { Operation, Text } from '#libs/rpc';
import { PostFieldsInput } from './post-fields.js';
import { postIdSchema, posts } from './posts.js';

@Operation({
  method: 'POST',
  name: 'post.create-post',
  object: 'post',
  summary: 'Create a post',
  description:
    'It starts as a draft. The same body again answers the one it made first, as long as that exists and has its ' +
    'name; for a second one like it send an `Idempotency-Key`.',
  answers: postIdSchema,
})
export class CreatePost extends PostFieldsInput {
  @Text({ max: 200, example: 'We did it' })
  override name!: string;
}

@CommandHandler(CreatePost)
export class CreatePostHandler implements ICommandHandler<CreatePost> {
  constructor(private readonly commands: ResourceCommands) {}

  execute(command: CreatePost): Promise<object> {
    const { name, description = null, imageId = null, content = null } = command;
    // Filled in before the request is compared with others: with or without the default it is the same.
    const title = (command.title ??= name);
    const data = { name, title, description, imageId, content };
    return this.commands.create(posts, command, { type: 'PostCreated', data });
  }
}
