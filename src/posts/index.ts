export { PostsModule } from './posts.module.js';
export { postsProjection, replayablePosts } from './posts.projection.js';
export { CreatePost } from './create-post.js';
export { PublishPost } from './publish-post.js';
export { post } from './post.js';
