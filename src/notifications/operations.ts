/** The operations of the service `notification`, in the order of its documentation. */
export * from './get-settings.js';
export * from './update-settings.js';
