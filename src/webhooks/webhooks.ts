import { Resource } from '#libs/resources';
import { recordSchema, textOrNull, timestamp } from '#libs/rpc';
import { exists, webhook } from './webhook.js';

/** What the operations table knows, and no event: of now alone. */
const OF_NOW =
  'Told by get-webhook and list-webhooks; null in answers of changes, of the past and of replays.';

export const webhookSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  updatedAt: timestamp,
  url: { type: 'string' },
  description: textOrNull,
  eventTypes: {
    type: ['array', 'null'],
    items: { type: 'string' },
    description: 'Types of events that are sent; null: all.',
  },
  personalData: {
    type: 'boolean',
    description:
      'Whether events are sent with what they say of persons: the key that made the webhook had the scope history:read.',
  },
  status: {
    type: 'string',
    enum: ['ACTIVE', 'FAILING', 'PAUSED', 'DISABLED'],
    description:
      'FAILING: active, and the last attempt has failed (get-webhook and list-webhooks tell that, others ACTIVE). DISABLED: ' +
      'nothing but failures for three days; resume-webhook goes on.',
  },
  position: {
    type: ['integer', 'null'],
    description: `Every event up to there was sent, or stands among those that are sent again. ${OF_NOW}`,
  },
  lag: {
    type: ['integer', 'null'],
    description: `Events of the organization after that position, of whatever type; 10,000 is that or more. ${OF_NOW}`,
  },
  lastDelivery: {
    type: ['object', 'null'],
    description: `The last attempt. ${OF_NOW}`,
    properties: {
      eventId: { type: 'string' },
      at: timestamp,
      outcome: { type: 'string', enum: ['DELIVERED', 'FAILED', 'PARKED'] },
      statusCode: { type: ['integer', 'null'] },
      ms: { type: 'integer' },
    },
  },
  organizationId: { type: 'string' },
});

export const webhookIdSchema = recordSchema({ webhookId: { type: 'string' } });

export const newSecretSchema = recordSchema({
  webhookId: { type: 'string' },
  secret: {
    type: ['string', 'null'],
    description:
      'What `webhook-signature` is checked with. Shown this once: a repeat of the request answers `null`.',
  },
});

export const webhooks = new Resource({
  object: 'webhook',
  decider: webhook,
  standing: (state) => (exists(state) ? state : undefined),
  answers: webhookSchema,
  version: 2,
  columns: { url: { type: 'text', search: true }, status: { type: 'text', index: true } },
});
