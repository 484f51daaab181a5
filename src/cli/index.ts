export { apiKeyCommands } from './api-key.js';
export { contactsCommands } from './contacts.js';
export { doctorCommand } from './doctor.js';
export { erasuresCommands } from './erasures.js';
export { historyCommands } from './history.js';
export { organizationCommands } from './organization.js';
export { projectionCommands } from './projections.js';
export { withSession } from './session.js';
