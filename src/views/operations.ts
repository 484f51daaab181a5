/** The operations of the service `view`, in the order of its documentation. */
export * from './create-view.js';
export * from './get-view.js';
export * from './list-views.js';
export * from './update-view.js';
export * from './delete-view.js';
