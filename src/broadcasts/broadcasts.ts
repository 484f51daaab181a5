import { Resource } from '#libs/resources';
import {
  type FieldSchema,
  listedSchema,
  recordSchema,
  recordVersion,
  resourceSchema,
  textOrNull,
} from '#libs/rpc';
import { forEachKindOfContacts } from '../contacts/index.js';
import { audienceFields, broadcast, exists, STATUSES } from './broadcast.js';

const count: FieldSchema = { type: ['integer', 'null'] };
const moment: FieldSchema = { type: ['string', 'null'], format: 'date-time' };
const ids: FieldSchema = { type: 'array', items: { type: 'string' } };

/** Properties for the kinds of records that contacts belong to are added below. */
const audience: Record<string, FieldSchema> = {
  all: { type: 'boolean' },
  contactIds: ids,
  filter: {
    type: 'object',
    properties: { country: { type: 'string' }, city: { type: 'string' }, zip: { type: 'string' } },
  },
};
forEachKindOfContacts(({ resource }) => {
  const { chosen, excluded } = audienceFields(resource.object);
  Object.assign(audience, { [chosen]: ids, [excluded]: ids });
});

export const broadcastSchema = resourceSchema({
  version: recordVersion,
  name: { type: 'string' },
  subject: { type: 'string' },
  preheader: textOrNull,
  content: { type: 'string' },
  format: { type: 'string', enum: ['MARKDOWN', 'HTML'] },
  audience: {
    type: 'object',
    description: 'Contains only the parts that were set.',
    properties: audience,
  },
  status: { type: 'string', enum: [...STATUSES] },
  sendAt: moment,
  startedAt: moment,
  finishedAt: moment,
  recipients: {
    type: ['object', 'null'],
    description:
      'The current state of its recipients; null before sending starts. With `asOf`, it contains the number of ' +
      'recipients and, once sending has finished, their results at that time. The other values are null.',
    properties: {
      total: { type: 'integer' },
      sent: count,
      failed: count,
      skipped: count,
      inDoubt: count,
      bounced: count,
      complained: count,
      unsubscribed: count,
    },
  },
  countClicks: { type: 'boolean' },
  clicks: {
    type: ['array', 'null'],
    description:
      'With `countClicks`, its links and how often they were followed, once per network and hour; null before sending starts and with `asOf`.',
    items: recordSchema({ url: { type: 'string' }, clicks: { type: 'integer' } }),
  },
});

/** Lists leave out the content. */
export const listedBroadcastSchema = listedSchema(broadcastSchema);

export const broadcastIdSchema = recordSchema({ broadcastId: { type: 'string' } });

export const broadcasts = new Resource({
  object: 'broadcast',
  decider: broadcast,
  existing(state) {
    if (!exists(state)) return undefined;
    const { recipients } = state;
    return { ...state, recipients: recipients && { ...UNKNOWN, ...recipients } };
  },
  // Once it is scheduled or sent, an identical request creates a new broadcast, such as next week's
  // newsletter.
  isRepeated: (state) => exists(state) && state.status === 'DRAFT',
  answers: broadcastSchema,
  version: 4,
  columns: {
    name: { type: 'text', index: true, search: true },
    subject: { type: 'text', search: true },
    status: { type: 'text', index: true },
  },
  apart: 'content',
});

/** The fields that are not in the history. */
const UNKNOWN = {
  total: 0,
  sent: null,
  failed: null,
  skipped: null,
  inDoubt: null,
  bounced: null,
  complained: null,
  unsubscribed: null,
};
