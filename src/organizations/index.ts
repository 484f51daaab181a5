export { CreateOrganization } from './create-organization.js';
export { organization, type OrganizationEvent, standingOrganization } from './organization.js';
export { organizationsProjection } from './organizations.projection.js';
export { OrganizationsModule } from './organizations.module.js';
export { replayableOrganization } from './organization-record.js';
