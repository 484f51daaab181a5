import { ProductModule } from '#libs/modules';
import { CreateOrganizationHandler } from './create-organization.js';
import * as operations from './operations.js';
import { replayableOrganization } from './organization-record.js';
import { organization, organizationShapes } from './organization.js';
import { organizationsProjection } from './organizations.projection.js';
import { publicLog } from './public-log.js';
import { publicLogsProjection } from './public-logs.projection.js';
import { sender } from './sender.js';
import { sendersProjection } from './senders.projection.js';

@ProductModule({
  operations,
  streams: [organization, publicLog, sender],
  projections: [organizationsProjection, publicLogsProjection, sendersProjection],
  upcasters: organizationShapes,
  replayables: [replayableOrganization],
  // Organizations are made on the command line: that handler has no route.
  providers: [CreateOrganizationHandler],
})
export class OrganizationsModule {}
