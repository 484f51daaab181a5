import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { type RecordedEvent } from '#libs/event-store';
import { domainOf, Mailer } from '#libs/mail';
import { type Subscription } from '#libs/subscriptions';
import { PublicAddress } from '../config/index.js';
import { brandOf, organization, senderOf } from '../organizations/index.js';
import { writeDisabledMail } from './write-disabled-mail.js';
import { webhook } from './webhook.js';

/**
 * Sends the organization an email when a webhook was disabled, if it has an address.
 */
@Injectable()
export class WebhookDisabledMail implements Subscription {
  readonly name = 'webhook-disabled-mail';
  readonly handles = ['WebhookDisabled'];
  readonly begins = 'at the first event';

  constructor(
    private readonly records: RecordReader,
    private readonly mailer: Mailer,
    private readonly address: PublicAddress,
  ) {}

  async handle(event: RecordedEvent, signal: AbortSignal): Promise<void> {
    const { organizationId, streamId: webhookId, eventId } = event;
    const { state: owner } = await this.records.look(organization, organizationId, organizationId);
    const sender = await senderOf(this.records, organizationId);
    if (owner.status === 'unknown' || owner.email === null) return;
    const from = this.mailer.senderFor(owner.name, sender.mailFrom);
    const { state } = await this.records.look(webhook, organizationId, webhookId);
    if (state.status !== 'DISABLED') return;
    const outcome = await this.mailer.send(
      {
        organizationId,
        from,
        replyTo: null,
        to: owner.email,
        ...writeDisabledMail(sender.language, {
          brand: await brandOf(this.records, organizationId, sender, this.address),
          webhookId,
          url: state.url,
          failingSince: new Date(event.data.failingSince as string),
        }),
        // Derived from the event, so a retry sends the same message.
        messageId: `webhook.${eventId}@${domainOf(from)}`,
        automatic: true,
      },
      signal,
    );
    const isLater =
      outcome.outcome === 'unreachable' || (outcome.outcome === 'refused' && !outcome.permanent);
    if (isLater) throw new Error(`The email could not be sent: ${outcome.detail}.`);
  }
}
