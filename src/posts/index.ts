export { PostsModule } from './posts.module.js';
export { postsProjection } from './posts.projection.js';
