import { ProductModule } from '#libs/modules';
import { showImagesBy } from '../images/index.js';
import { CreateOrganizationHandler } from './create-organization.js';
import { OrganizationNames } from './organization-names.js';
import { OrganizationSlugs } from './organization-slugs.js';
import { SiteAddress } from './site-address.js';
import * as operations from './operations.js';
import { replayableOrganization } from './organization-record.js';
import { type Organization, organization, organizationShapes, updateOrganization } from './organization.js';
import { organizationsProjection } from './organizations.projection.js';
import { publicLog } from './public-log.js';
import { publicLogsProjection } from './public-logs.projection.js';
import { sender } from './sender.js';
import { sendersProjection } from './senders.projection.js';

@ProductModule({
  operations,
  services: { organization: 'The organization itself: its name, pages, sender and settings.' },
  streams: [organization, publicLog, sender],
  projections: [organizationsProjection, publicLogsProjection, sendersProjection],
  upcasters: organizationShapes,
  replayables: [replayableOrganization],
  // Organizations are created on the command line, so that handler has no route.
  providers: [CreateOrganizationHandler, OrganizationNames, OrganizationSlugs, SiteAddress],
  exports: [OrganizationNames, OrganizationSlugs, SiteAddress],
})
export class OrganizationsModule {}

// Organizations show images as their logo.
showImagesBy({
  object: 'organization',
  decider: organization,
  exists: (state) => (state as Organization).status === 'standing',
  async find({ records }, organizationId, imageId) {
    const { state } = await records.load(organization, organizationId, organizationId);
    if (state.status !== 'standing' || state.imageId !== imageId) return [];
    return [{ id: organizationId, name: state.name }];
  },
  takeOut: (state) => updateOrganization(state as Organization, { imageId: null }),
});
