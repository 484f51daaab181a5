/** The operations of the service `api-key`, in the order of its documentation. */
export * from './create-api-key.js';
export * from './list-api-keys.js';
export * from './rotate-api-key.js';
export * from './revoke-api-key.js';
