/** The operations of the service `event`, in the order of its documentation. */
export * from './list-events.js';
export * from './get-event.js';
export * from './export-events.js';
export * from './get-proof.js';
export * from './get-checkpoint.js';
