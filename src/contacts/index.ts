export { ContactsModule } from './contacts.module.js';
export { contactsProjection } from './contacts.projection.js';
