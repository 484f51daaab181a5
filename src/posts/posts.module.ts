import { ProductModule } from '#libs/modules';
import { OrganizationsModule } from '../organizations/index.js';
import * as operations from './operations.js';
import { reasons } from './reasons.js';
import { PostAddress } from './post-address.js';
import { postShapes } from './post.js';
import { posts } from './posts.js';

@ProductModule({
  operations,
  services: { post: 'Posts on the public site.' },
  reasons,
  resources: [posts],
  upcasters: postShapes,
  imports: [OrganizationsModule],
  providers: [PostAddress],
})
export class PostsModule {}
