/** The operations of the service `webhook`, in the order of its documentation. */
export * from './create-webhook.js';
export * from './get-webhook.js';
export * from './list-webhooks.js';
export * from './update-webhook.js';
export * from './pause-webhook.js';
export * from './resume-webhook.js';
export * from './rotate-secret.js';
export * from './test-webhook.js';
export * from './list-deliveries.js';
export * from './redeliver.js';
export * from './replay-webhook.js';
export * from './delete-webhook.js';
export * from './list-event-types.js';
