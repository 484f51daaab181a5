import { ProductModule } from '#libs/modules';
import { OrganizationsModule } from '../organizations/index.js';
import * as operations from './operations.js';
import { PostAddress } from './post-address.js';
import { postShapes } from './post.js';
import { posts } from './posts.js';

@ProductModule({
  operations,
  resources: [posts],
  upcasters: postShapes,
  imports: [OrganizationsModule],
  providers: [PostAddress],
})
export class PostsModule {}
