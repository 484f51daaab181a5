import { ProductModule } from '#libs/modules';
import * as operations from './operations.js';
import { posts } from './posts.js';

@ProductModule({ operations, resources: [posts] })
export class PostsModule {}
