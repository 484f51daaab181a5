/** The operations of the service `petition`, in the order of its documentation. */
export * from './create-petition.js';
export * from './duplicate-petition.js';
export * from './list-petitions.js';
export * from './get-petition.js';
export * from './update-petition.js';
export * from './publish-petition.js';
export * from './close-petition.js';
export * from './delete-petition.js';
export * from './add-signature.js';
export * from './remove-signature.js';
export * from './list-signatures.js';
export * from './export-signatures.js';
export * from './get-stats.js';
export * from './invalidate-signatures.js';
export * from './restore-signatures.js';
export * from './get-invalidation.js';
export * from './list-invalidations.js';
