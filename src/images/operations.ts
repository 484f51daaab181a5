/** The operations of the service `image`, in the order of its documentation. */
export * from './upload-image.js';
export * from './get-image.js';
export * from './list-images.js';
export * from './update-image.js';
export * from './delete-image.js';
