export { apiKeyCommands } from './api-key.js';
export { contactsCommands } from './contacts.js';
export { organizationCommands } from './organization.js';
export { withSession } from './session.js';
