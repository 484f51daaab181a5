/** The operations of the service `import`, in the order of its documentation, and the updates that can be jobs. */
export * from './create-import.js';
export * from './get-import.js';
export * from './list-imports.js';
export * from './get-import-rows.js';
export * from './get-import-problems.js';
export * from './cancel-import.js';
export * from './undo-import.js';
export * from './update-contacts.js';
export * from './undo-update.js';
