import { ProductModule } from '#libs/modules';
import { OrganizationsModule } from '../organizations/index.js';
import * as operations from './operations.js';
import { reasons } from './reasons.js';
import { PostAddress } from './post-address.js';
import { postPublication } from './post-publication.js';
import { postShapes } from './post.js';
import { posts } from './posts.js';

@ProductModule({
  operations,
  services: { post: 'Posts on the public site.' },
  reasons,
  resources: [posts],
  subscriptions: [postPublication.subscription],
  timers: [postPublication.timer],
  upcasters: postShapes,
  imports: [OrganizationsModule],
  providers: [PostAddress, postPublication.handler],
})
export class PostsModule {}
