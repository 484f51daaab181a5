export { type ContactGroup, ContactGroups } from './contact-groups.js';
export { ContactsModule } from './contacts.module.js';
export { contactsProjection } from './contacts.projection.js';
export { ExportContacts } from './export-contacts.js';
export { ImportContacts, type ImportAnswer } from './import-contacts.js';
