import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { OperationRunner, systemContext, systemInput } from '#libs/rpc';
import { NOBODY, readUnsubscribeToken, Recipients } from '../broadcasts/index.js';
import { type ConsentFields, findMerged, UpdateContact } from '../contacts/index.js';
import { senderOf } from '../organizations/index.js';
import { Suppressions } from '../suppressions/index.js';

/** The actor in the history. */
const ACTOR = 'unsubscribe-link';

/** The person behind a link, as the page shows them. */
export type LinkedPerson = {
  organization: string;
  language: string;
  /** Whether broadcasts reach them. */
  isSubscribed: boolean;
  /** Whether they can subscribe again. Erased people, and people suppressed for other reasons, cannot. */
  canReturn: boolean;
};

/** The actions of the links in the footer of broadcasts. */
@Injectable()
export class Unsubscribing {
  constructor(
    private readonly store: EventStore,
    private readonly records: RecordReader,
    private readonly runner: OperationRunner,
    private readonly suppressions: Suppressions,
    private readonly recipients: Recipients,
  ) {}

  /** Finds the person behind a link. Undefined if the token is invalid. */
  async find(token: string): Promise<LinkedPerson | undefined> {
    const person = readUnsubscribeToken(this.store.keyring, token);
    if (!person) return undefined;
    const { organizationId, contactId } = person;
    const { name, mailFrom, language } = await senderOf(this.records, organizationId);
    const whose = { organization: mailFrom?.name ?? name, language };
    // Links in tests and previews show the sender the same page that recipients will see.
    if (contactId === NOBODY) return { ...whose, isSubscribed: true, canReturn: false };
    const email = await this.emailOf(organizationId, contactId);
    if (!email) return { ...whose, isSubscribed: false, canReturn: false };
    const reasons = await this.suppressions.reasonsOf(organizationId, email.address);
    return {
      ...whose,
      isSubscribed: email.isSubscribed && reasons.length === 0,
      canReturn: reasons.every((reason) => reason === 'UNSUBSCRIBED'),
    };
  }

  /**
   * Unsubscribes. Idempotent. Does nothing if the token is invalid or the person was erased.
   *
   * @param consent what they saw, and where.
   */
  async unsubscribe(token: string, consent: ConsentFields): Promise<void> {
    const person = readUnsubscribeToken(this.store.keyring, token);
    if (!person) return;
    const { organizationId, contactId, broadcastId } = person;
    const email = await this.emailOf(organizationId, contactId);
    if (!email) return;
    // Suppressed before the contact changes, so that a later import of the same person is covered too.
    const context = systemContext(organizationId, ACTOR);
    await this.suppressions.suppress(organizationId, email.address, 'UNSUBSCRIBED', context);
    await this.setSubscribed(organizationId, email.contactId, false, consent);
    await this.recipients.recordLateReport(organizationId, broadcastId, contactId, 'unsubscribed');
  }

  /** Subscribes again. Suppressions for other reasons, such as bounces, remain. */
  async subscribe(token: string, consent: ConsentFields): Promise<void> {
    const person = readUnsubscribeToken(this.store.keyring, token);
    if (!person) return;
    const { organizationId, contactId } = person;
    const email = await this.emailOf(organizationId, contactId);
    if (!email) return;
    const context = systemContext(organizationId, ACTOR);
    await this.suppressions.unsuppress(organizationId, email.address, context, 'UNSUBSCRIBED');
    await this.setSubscribed(organizationId, email.contactId, true, consent);
  }

  /** Of the contact that the link was sent to, or of the one it was merged into. */
  private async emailOf(
    organizationId: string,
    contactId: string,
  ): Promise<{ contactId: string; address: string; isSubscribed: boolean } | undefined> {
    const found = await findMerged(this.records, organizationId, contactId);
    const address = found?.state.details.email ?? null;
    return found && address !== null
      ? { contactId: found.contactId, address, isSubscribed: found.state.subscribed }
      : undefined;
  }

  private async setSubscribed(
    organizationId: string,
    contactId: string,
    subscribed: boolean,
    consent: ConsentFields,
  ): Promise<void> {
    const fields = { contactId, subscribed, consent };
    await this.runner.execute(systemInput(UpdateContact, organizationId, fields, ACTOR));
  }
}
