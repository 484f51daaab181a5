/** The operations of the service `broadcast`, in the order of its documentation. */
export * from './create-broadcast.js';
export * from './duplicate-broadcast.js';
export * from './get-broadcast.js';
export * from './list-broadcasts.js';
export * from './update-broadcast.js';
export * from './delete-broadcast.js';
export * from './preview-audience.js';
export * from './preview-broadcast.js';
export * from './send-test.js';
export * from './send-broadcast.js';
export * from './pause-broadcast.js';
export * from './resume-broadcast.js';
export * from './cancel-broadcast.js';
export * from './list-recipients.js';
export * from './retry-recipients.js';
export * from './preview-thank-you.js';
export * from './send-thank-you-test.js';
