import { ProductModule } from '#libs/modules';
import * as operations from './operations.js';
import { postShapes } from './post.js';
import { posts } from './posts.js';

@ProductModule({ operations, resources: [posts], upcasters: postShapes })
export class PostsModule {}
