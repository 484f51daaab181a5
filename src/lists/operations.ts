/** The operations of the service `list`, in the order of its documentation. */
export * from './create-list.js';
export * from './get-list.js';
export * from './list-lists.js';
export * from './update-list.js';
export * from './delete-list.js';
export * from './add-contacts.js';
export * from './remove-contacts.js';
