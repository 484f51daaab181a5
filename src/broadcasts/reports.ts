import { Injectable } from '@nestjs/common';
import { type RecordedEvent } from '#libs/event-store';
import { type Subscription } from '#libs/subscriptions';
import { readMessageId } from './message-builder.js';
import { Recipients } from './recipients.js';

/** Counts bounces and complaints on the broadcast they belong to. */
@Injectable()
export class BroadcastReports implements Subscription {
  readonly name = 'broadcast-reports';
  readonly handles = ['ContactBounced', 'ContactComplained'];
  readonly begins = 'at the first event';

  constructor(private readonly recipients: Recipients) {}

  /** Idempotent: each recipient is counted once. */
  async handle({ organizationId, type, data }: RecordedEvent): Promise<void> {
    const { messageId, contactId } = data as { messageId: string | null; contactId: string };
    const message = messageId === null ? undefined : readMessageId(messageId);
    // The report's contact has the address now, but may not have had it when the message was sent.
    if (message?.contactId !== contactId) return;
    const what = type === 'ContactBounced' ? 'bounced' : 'complained';
    await this.recipients.recordLateReport(organizationId, message.broadcastId, contactId, what);
  }
}
