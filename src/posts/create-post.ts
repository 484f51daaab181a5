import { createHandler, slugOf } from '#libs/resources';
import { momentOf, Operation, Text } from '#libs/rpc';
import { PostFieldsInput } from './post-fields.js';
import { type PostEvent } from './post.js';
import { postIdSchema, posts } from './posts.js';

@Operation({
  name: 'post.create-post',
  summary: 'Create a post',
  description:
    'A new post is a draft. Sending the same body again returns the first post, as long as it exists and still ' +
    'has that name. To create an identical one, send an `Idempotency-Key`.',
  answers: postIdSchema,
  reasons: ['SLUG_TAKEN'],
})
export class CreatePost extends PostFieldsInput {
  @Text({ max: 200, example: 'We did it' })
  override name!: string;
}

export const CreatePostHandler = createHandler(CreatePost, posts, (command): PostEvent => {
  const { name, description = null, imageId = null, content = null } = command;
  // The default is set before requests are compared: a request with the default equals one without it.
  const title = (command.title ??= name);
  const { slug = slugOf(name), petitionId = null } = command;
  const publishAt = momentOf(command.publishAt) ?? null;
  return {
    type: 'PostCreated',
    data: { name, title, description, imageId, content, slug, petitionId, publishAt },
  };
});
