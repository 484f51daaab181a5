export { type ContactGroup, ContactGroups } from './contact-groups.js';
export { emailKey } from './contact-write.js';
export { noSuchContact } from './contact.js';
export { contactsProjection, ContactsTable } from './contacts.projection.js';
export { ContactsModule } from './contacts.module.js';
export { createInline, holdContact, InlineContact } from './inline-contact.js';
export { CreateContact } from './create-contact.js';
export { ExportContacts } from './export-contacts.js';
export { type ImportAnswer, ImportContacts } from './import-contacts.js';
