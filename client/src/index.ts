export { type Client, createClient } from './client.js';
export {
  AdvocacyError,
  ApiError,
  ConfigurationError,
  ConnectionError,
  type Issue,
  SecretLostError,
  WebhookVerificationError,
} from './errors.js';
export type * from './generated.js';
export type * from './types.js';
export { verifyWebhook, type WebhookEvent, type WebhookHeaders } from './webhooks.js';
