/** The operations of the service `segment`, in the order of its documentation. */
export * from './create-segment.js';
export * from './get-segment.js';
export * from './list-segments.js';
export * from './update-segment.js';
export * from './delete-segment.js';
export * from './preview-segment.js';
