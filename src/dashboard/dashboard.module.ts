import { ProductModule } from '#libs/modules';
import { RateLimitGuard } from '#libs/rate-limit';
import { OrganizationsModule } from '../organizations/index.js';
import { TeamModule } from '../team/index.js';
import { Answering } from './answering.js';
import { Imports } from './contacts/imports.js';
import { DashboardController } from './dashboard.controller.js';
import { People } from './people.js';
import { ScriptsController } from './scripts.controller.js';
import { SignInController } from './sign-in.controller.js';

@ProductModule({
  // People open its pages; what they do is done by the operations of others.
  operations: {},
  imports: [OrganizationsModule, TeamModule],
  // An organization's pages come last: their addresses begin with anything.
  controllers: [ScriptsController, SignInController, DashboardController],
  background: [Imports],
  providers: [Answering, People, RateLimitGuard],
})
export class DashboardModule {}
