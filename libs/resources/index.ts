export {
  changeHandler,
  createHandler,
  deleteHandler,
  duplicateHandler,
  getHandler,
  linkHandler,
  listHandler,
  unlinkHandler,
} from './handlers.js';
export { type LinkDetails, Linking } from './linking.js';
export { Resource, type ResourceRecord } from './resource.js';
export { ResourceCommands } from './resource-commands.js';
export { comparableName, type ListQuery, Resources } from './resources.js';
export { ResourcesModule } from './resources.module.js';
export { type Slugged, slugOf, withSlug } from './slugs.js';
export { timedChange } from './timed-change.js';
