/** The operations of the service `api-key`, in the order of its documentation. */
export * from './create-api-key.js';
export * from './list-api-keys.js';
export * from './rotate-api-key.js';
export * from './revoke-api-key.js';
/** The operations of the service `publishable-key`. */
export * from './publishable/create-publishable-key.js';
export * from './publishable/get-publishable-key.js';
export * from './publishable/list-publishable-keys.js';
export * from './publishable/update-publishable-key.js';
export * from './publishable/revoke-publishable-key.js';
