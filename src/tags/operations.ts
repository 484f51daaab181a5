/** The operations of the service `tag`, in the order of its documentation. */
export * from './create-tag.js';
export * from './get-tag.js';
export * from './list-tags.js';
export * from './update-tag.js';
export * from './delete-tag.js';
export * from './add-contacts.js';
export * from './remove-contacts.js';
