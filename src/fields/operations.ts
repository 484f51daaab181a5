/** The operations of the service `field`, in the order of its documentation. */
export * from './create-field.js';
export * from './get-field.js';
export * from './list-fields.js';
export * from './update-field.js';
export * from './delete-field.js';
