export { CreateOrganization } from './create-organization.js';
export { organization, type OrganizationEvent, standingOrganization } from './organization.js';
export { organizationsProjection } from './organizations.projection.js';
export { isLogPublic, publicLog, publicLogId } from './public-log.js';
export { publicLogsProjection } from './public-logs.projection.js';
export { OrganizationsModule } from './organizations.module.js';
export { replayableOrganization } from './organization-record.js';
