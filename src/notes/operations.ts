/** The operations of the service `note`, in the order of its documentation. */
export * from './create-note.js';
export * from './get-note.js';
export * from './list-notes.js';
export * from './update-note.js';
export * from './delete-note.js';
