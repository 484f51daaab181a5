import { type RecordedEvent } from '#libs/event-store';
import { eventRecord, type EventRecord } from '../history/index.js';
import { type ExpandedRecords } from './webhook-expansions.js';

/** An event as webhooks deliver it. One address may receive the events of several organizations. */
export type WebhookBody = EventRecord & { organizationId: string } & ExpandedRecords;

export function webhookBody(event: RecordedEvent, records: ExpandedRecords = {}): WebhookBody {
  return { ...eventRecord(event), organizationId: event.organizationId, ...records };
}
