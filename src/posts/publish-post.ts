import { changeHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { publishPost } from './post.js';
import { posts, postSchema } from './posts.js';

@Operation({
  name: 'post.publish-post',
  summary: 'Publish a post',
  description: 'Publishes a draft or an archived post. Publishing a published post changes nothing.',
  answers: postSchema,
})
export class PublishPost extends RecordInput('postId') {}

export const PublishPostHandler = changeHandler(PublishPost, posts, publishPost);
