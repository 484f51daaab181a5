import { ProductModule } from '#libs/modules';
import { RateLimitGuard } from '#libs/rate-limit';
import { OrganizationsModule } from '../organizations/index.js';
import { NotificationsModule } from '../notifications/index.js';
import { TeamModule } from '../team/index.js';
import { Answering } from './answering.js';
import { DashboardController } from './dashboard.controller.js';
import { TurnOffController } from './notifications/turn-off.controller.js';
import { People } from './people.js';
import { ScriptsController } from './scripts.controller.js';
import { SignInController } from './sign-in.controller.js';

@ProductModule({
  // It has only pages. The operations belong to other modules.
  operations: {},
  imports: [NotificationsModule, OrganizationsModule, TeamModule],
  // The organization's pages come last, because their route matches any address.
  controllers: [ScriptsController, SignInController, TurnOffController, DashboardController],
  providers: [Answering, People, RateLimitGuard],
})
export class DashboardModule {}
