/** The operations of the service `suppression`, in the order of its documentation. */
export * from './create-suppression.js';
export * from './list-suppressions.js';
export * from './delete-suppression.js';
