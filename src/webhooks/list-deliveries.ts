import { momentAsText, ReadSource } from '#libs/database';
import { EventStore, wrappedKeyOf } from '#libs/event-store';
import { findRows, type ListedTable } from '#libs/projections';
import { Resources } from '#libs/resources';
import {
  CreatedPageInput,
  handlerOf,
  hasScope,
  Id,
  listingOf,
  Operation,
  pageOf,
  recordSchema,
  textOrNull,
  timestamp,
} from '#libs/rpc';
import { ANSWER, type DeliveryOutcome } from './deliveries.js';
import { webhooks } from './webhooks.js';

@Operation({
  name: 'webhook.list-deliveries',
  summary: 'List delivery attempts of a webhook',
  description: 'Covers the last 30 days.',
  answers: recordSchema({
    id: { type: 'string' },
    createdAt: timestamp,
    webhookId: { type: 'string' },
    eventId: { type: 'string' },
    position: { type: 'integer' },
    type: { type: 'string', example: 'PetitionSigned' },
    attempt: { type: 'integer', description: 'Starts at 1.' },
    outcome: {
      type: 'string',
      enum: ['DELIVERED', 'FAILED', 'PARKED'],
      description:
        'FAILED: will be retried. PARKED: all retries failed (dead letter); `webhook.redeliver` sends the event ' +
        'again.',
    },
    statusCode: { type: ['integer', 'null'], description: 'null if there was no response.' },
    ms: { type: 'integer' },
    reason: { ...textOrNull, description: 'Why the delivery failed.' },
    answer: {
      ...textOrNull,
      description:
        'The first KiB of the response. For events about a person, it requires the scope history:read and is null ' +
        'once the person was erased.',
    },
  }),
  list: true,
})
export class ListDeliveries extends CreatedPageInput() {
  @Id()
  webhookId!: string;
}

type DeliveryRow = {
  id: string;
  created_at: string;
  event_id: string;
  position: string;
  type: string;
  attempt: number;
  outcome: DeliveryOutcome;
  status_code: number | null;
  ms: number;
  reason: string | null;
  answer: Buffer | null;
  subject_id: string | null;
  wrapped_key: Buffer | null;
};

const PAGE: ListedTable = {
  table: 'webhook_deliveries',
  columns: `id, ${momentAsText('page.created_at')} AS created_at, event_id, position, type, attempt, outcome, status_code, ms,
    reason, answer, subject_id, CASE WHEN answer IS NOT NULL THEN ${wrappedKeyOf('page', 'subject_id')} END AS wrapped_key`,
  bytes: '500 + coalesce(octet_length(answer), 0)',
  widest: 2_000,
  within: { sql: 'webhook_id = ?', type: 'uuid' },
};

export const ListDeliveriesHandler = handlerOf(
  ListDeliveries,
  [ReadSource, Resources, EventStore],
  async (query, reads, resources, store) => {
    const { context, organizationId, webhookId } = query;
    await resources.require(webhooks, organizationId, webhookId);
    const listing = { ...listingOf(query), within: webhookId };
    const { rows, next } = await findRows<DeliveryRow>(reads, listing, PAGE);
    const mayRead = hasScope(context.scopes, 'history:read');
    const records = rows.map((row) => ({
      id: row.id,
      createdAt: row.created_at,
      webhookId,
      eventId: row.event_id,
      position: Number(row.position),
      type: row.type,
      attempt: row.attempt,
      outcome: row.outcome,
      statusCode: row.status_code,
      ms: row.ms,
      reason: row.reason,
      answer: answerOf(row, mayRead, store),
    }));
    return pageOf(query, records, next);
  },
);

function answerOf(
  { answer, subject_id, wrapped_key }: DeliveryRow,
  mayRead: boolean,
  store: EventStore,
): string | null {
  if (!answer) return null;
  if (subject_id === null) return answer.toString('utf8');
  return mayRead && wrapped_key ? store.opener(subject_id, wrapped_key)(ANSWER, answer) : null;
}
