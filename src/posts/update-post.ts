import { changeHandler } from '#libs/resources';
import { Id, momentOf, Operation } from '#libs/rpc';
import { PostFieldsInput } from './post-fields.js';
import { updatePost } from './post.js';
import { posts, postSchema } from './posts.js';

@Operation({
  name: 'post.update-post',
  summary: 'Update a post',
  description: 'Changes only the fields you send; `null` clears an optional field.',
  answers: postSchema,
  reasons: ['SLUG_TAKEN', 'POST_PUBLISHED'],
})
export class UpdatePost extends PostFieldsInput {
  @Id()
  postId!: string;
}

export const UpdatePostHandler = changeHandler(UpdatePost, posts, (state, command) => {
  const { context, organizationId, postId, ...changes } = command;
  const publishAt = momentOf(changes.publishAt);
  return updatePost(state, { ...changes, ...(publishAt === undefined ? {} : { publishAt }) });
});
