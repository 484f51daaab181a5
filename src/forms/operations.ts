/** The operations of the service `form`, in the order of its documentation. */
export * from './create-form.js';
export * from './get-form.js';
export * from './list-forms.js';
export * from './update-form.js';
export * from './delete-form.js';
export * from './get-stats.js';
