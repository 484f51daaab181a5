export { Destinations } from './destinations.js';
export { forwardEvents, forwardingSecret } from './forward-events.js';
export { ReplayWebhook } from './replay-webhook.js';
export { disableWebhook, webhook } from './webhook.js';
export { EXPANDED_KINDS, type ExpandedKind, expansionId } from './webhook-expansion.js';
export { WEBHOOK_BACKLOG } from './webhook-sender.js';
export { DELIVERY_REASONS } from './webhook-requests.js';
export { webhooks } from './webhooks.js';
export { WebhooksModule } from './webhooks.module.js';
