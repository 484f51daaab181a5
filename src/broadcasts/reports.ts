import { Injectable } from '@nestjs/common';
import { type RecordedEvent } from '#libs/event-store';
import { type Subscription } from '#libs/subscriptions';
import { readMessageId } from './message-builder.js';
import { Recipients } from './recipients.js';

/** Counts on a broadcast what mail providers report of its messages. */
@Injectable()
export class BroadcastReports implements Subscription {
  readonly name = 'broadcast-reports';
  readonly handles = ['ContactBounced', 'ContactComplained'];
  readonly begins = 'at the first event';

  constructor(private readonly recipients: Recipients) {}

  /** A recipient is counted once, so this may be done twice. */
  async handle({ organizationId, type, data }: RecordedEvent): Promise<void> {
    const { messageId, contactId } = data as { messageId: string | null; contactId: string };
    const message = messageId === null ? undefined : readMessageId(messageId);
    // By the contact who has the address now: it may have been another's.
    if (message?.contactId !== contactId) return;
    const what = type === 'ContactBounced' ? 'bounced' : 'complained';
    await this.recipients.noteAftermath(organizationId, message.broadcastId, contactId, what);
  }
}
