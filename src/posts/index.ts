export { PostsModule } from './posts.module.js';
export { posts, updatesOf } from './posts.js';
export { CreatePost } from './create-post.js';
export { PublishPost } from './publish-post.js';
export { post, STATUSES } from './post.js';
