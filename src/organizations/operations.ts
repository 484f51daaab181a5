/** The operations of the service `organization`, in the order of its documentation. */
export * from './get-organization.js';
export * from './update-organization.js';
