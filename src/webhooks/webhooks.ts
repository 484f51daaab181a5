import { Resource } from '#libs/resources';
import { recordSchema, recordVersion, resourceSchema, textOrNull, timestamp } from '#libs/rpc';
import { EXPANDED_KINDS, expansionId, webhookExpansion } from './webhook-expansion.js';
import { exists, webhook } from './webhook.js';

/** Fields from the operations table, which only exist for the present. */
const OF_NOW =
  'Only get-webhook and list-webhooks return it; it is null with `asOf` and in the responses of all other operations.';

export const webhookSchema = resourceSchema({
  version: recordVersion,
  url: { type: 'string' },
  description: textOrNull,
  eventTypes: {
    type: ['array', 'null'],
    items: { type: 'string' },
    description: 'Types of events to send; null: all.',
  },
  expand: {
    type: 'array',
    items: { type: 'string', enum: EXPANDED_KINDS },
    description: 'Records that are delivered with each event.',
  },
  personalData: {
    type: 'boolean',
    description:
      'Whether events contain personal data. Requires that the key that created the webhook had the scope ' +
      'history:read.',
  },
  status: {
    type: 'string',
    enum: ['ACTIVE', 'FAILING', 'PAUSED', 'DISABLED'],
    description:
      'FAILING: active, but the last attempt failed (shown only by get-webhook and list-webhooks; other operations ' +
      'show ACTIVE). DISABLED: all deliveries failed for three days; resume it with resume-webhook.',
  },
  position: {
    type: ['integer', 'null'],
    description: `Every event up to this position was sent or is waiting for a retry. ${OF_NOW}`,
  },
  lag: {
    type: ['integer', 'null'],
    description: `Number of the organization's events after that position, of any type. 10,000 means 10,000 or more. ${OF_NOW}`,
  },
  lastDelivery: {
    type: ['object', 'null'],
    description: `The last attempt; null if there was none in the last 30 days. ${OF_NOW}`,
    properties: {
      eventId: { type: 'string' },
      at: timestamp,
      outcome: { type: 'string', enum: ['DELIVERED', 'FAILED', 'PARKED'] },
      statusCode: { type: ['integer', 'null'], description: 'null if there was no response.' },
      ms: { type: 'integer', description: 'Duration in milliseconds.' },
    },
  },
});

export const webhookIdSchema = recordSchema({ webhookId: { type: 'string' } });

export const newSecretSchema = recordSchema({
  webhookId: { type: 'string' },
  secret: {
    type: ['string', 'null'],
    description:
      'The secret to verify `webhook-signature`. Shown only once: repeating the request returns `null`.',
  },
});

export const webhooks = new Resource({
  object: 'webhook',
  decider: webhook,
  existing: (state) => (exists(state) ? state : undefined),
  answers: webhookSchema,
  version: 2,
  beside: { decider: webhookExpansion, idOf: expansionId },
  columns: { url: { type: 'text', search: true }, status: { type: 'text', index: true } },
});
