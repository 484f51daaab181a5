/** The operations of the service `contact`, in the order of its documentation. */
export * from './create-contact.js';
export * from './get-contact.js';
export * from './list-contacts.js';
export * from './update-contact.js';
export * from './consent/list-consents.js';
export * from './erasure/delete-contact.js';
export * from './erasure/delete-contacts.js';
export * from './import/import-contacts.js';
export * from './merge/merge-contacts.js';
export * from './duplicates/list-duplicates.js';
export * from './export-contacts.js';
export * from './export/export-person.js';
