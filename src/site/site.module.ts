import { ProductModule } from '#libs/modules';
import { RateLimitGuard } from '#libs/rate-limit';
import { BroadcastsModule } from '../broadcasts/index.js';
import { ConfirmationsModule } from '../confirmations/index.js';
import { FormsModule } from '../forms/index.js';
import { FieldsModule } from '../fields/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { PetitionsModule } from '../petitions/index.js';
import { Budgets } from './budgets.js';
import * as operations from './operations.js';
import { PersonalLinks } from './personal-links.js';
import { ProofOfWork } from './proof-of-work.js';
import { QuickPages } from './quick-pages.js';
import { Signing } from './signing.js';
import { Submissions } from './submissions.js';
import { SiteController } from './site.controller.js';
import { SiteRecords } from './site-records.js';

@ProductModule({
  operations,
  imports: [
    BroadcastsModule,
    ConfirmationsModule,
    FieldsModule,
    FormsModule,
    OrganizationsModule,
    PetitionsModule,
  ],
  controllers: [SiteController],
  providers: [
    SiteRecords,
    Signing,
    Submissions,
    PersonalLinks,
    Budgets,
    ProofOfWork,
    QuickPages,
    RateLimitGuard,
  ],
})
export class SiteModule {}
