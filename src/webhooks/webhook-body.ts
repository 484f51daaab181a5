import { type RecordedEvent } from '#libs/event-store';
import { eventRecord, type EventRecord } from '../history/index.js';

/** An event as webhooks deliver it. One address may receive the events of several organizations. */
export type WebhookBody = EventRecord & { organizationId: string };

export function webhookBody(event: RecordedEvent): WebhookBody {
  return { ...eventRecord(event), organizationId: event.organizationId };
}
