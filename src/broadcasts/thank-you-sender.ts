import { Injectable, Logger } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { describeError } from '#libs/database';
import { EventStore, type RecordedEvent } from '#libs/event-store';
import { Mailer } from '#libs/mail';
import { type Subscription } from '#libs/subscriptions';
import { ConfirmationMails, unprovedName } from '../confirmations/index.js';
import { signature, ThankYouMails, type ThankYouStatus } from '../petitions/index.js';
import { MessageBuilder, type Recipient } from './message-builder.js';
import { ReachableContacts } from './reachable-contacts.js';
import { TemplateError } from './merge-fields.js';
import { ThankYouLetters } from './thank-you-letters.js';

/** How often a mail server may reject an email for now. With the pauses of subscriptions, within 3 hours. */
const MOST_REJECTIONS = 6;

type Confirmed = {
  organizationId: string;
  petitionId: string;
  signatureId: string;
  /** The key under which the mailbox's emails of the day are counted. */
  requestId: string;
  /** Whether the system confirmed it, because the petition requires no confirmation. */
  isAutomatic: boolean;
};

/**
 * Thanks signers whose signature was confirmed: on the petition's page, or by the personal link of a broadcast. At most once for
 * each signature and each requested retry, whatever crashes; see `ThankYouMails`.
 */
@Injectable()
export class ThankYouSender implements Subscription {
  readonly name = 'thank-you-mails';
  readonly handles = ['SignatureConfirmed', 'PetitionSigned', 'ThankYouMailRetried'];
  readonly begins = 'now';
  private readonly logger = new Logger('signatures');

  constructor(
    private readonly store: EventStore,
    private readonly records: RecordReader,
    private readonly mails: ThankYouMails,
    private readonly letters: ThankYouLetters,
    private readonly budget: ConfirmationMails,
    private readonly reachable: ReachableContacts,
    private readonly messageBuilder: MessageBuilder,
    private readonly mailer: Mailer,
  ) {}

  /** Leaves out signatures that were added or imported through the API, and those whose request is confirmed. */
  choose(events: readonly RecordedEvent[]): RecordedEvent[] {
    return events.filter(({ type, data }) => type !== 'PetitionSigned' || data.broadcastId);
  }

  /** @throws Error if the email can still be delivered, so that it is retried. */
  async handle(event: RecordedEvent, signal: AbortSignal): Promise<void> {
    const { organizationId, streamId: requestId } = event;
    const petitionId = event.data.petitionId as string;
    const signatureId = (event.data.signatureId as string | undefined) ?? requestId;
    if (!(await this.letters.hadAt(event, petitionId))) return;
    const retried = event.type === 'ThankYouMailRetried' ? (event.data.attempts as number) : null;
    switch (await this.mails.claim(organizationId, petitionId, signatureId, retried)) {
      case 'CLAIMED':
        break;
      case 'BUSY':
        throw new Error('Another attempt to send this thank-you email has not ended yet.');
      case 'DOUBTED':
        this.logger.warn({ message: 'it is unknown whether a thank-you email was sent', signatureId });
        return;
      case 'DONE':
        return;
    }
    const confirmed = { organizationId, petitionId, signatureId, requestId, isAutomatic: isBySystem(event) };
    const { status, detail, isRejected } = await this.send(confirmed, signal).catch(
      async (error: unknown) => {
        // Nothing was sent: errors of the mail server are outcomes.
        await this.mails.settle(organizationId, signatureId, 'WAITING');
        throw error;
      },
    );
    const stored = await this.mails.settle(
      organizationId,
      signatureId,
      status,
      isRejected ? MOST_REJECTIONS : null,
    );
    if (stored === 'WAITING') throw new Error(`The thank-you email could not be sent: ${detail}`);
    if (stored === 'FAILED' || stored === 'IN_DOUBT')
      this.logger.warn({
        message: 'a thank-you email was not sent, or may not have been',
        signatureId,
        status: stored,
        detail,
      });
  }

  private async send(
    { organizationId, petitionId, signatureId, requestId, isAutomatic }: Confirmed,
    signal: AbortSignal,
  ): Promise<{ status: ThankYouStatus; detail: string; isRejected?: boolean }> {
    const recipient = await this.recipientOf(organizationId, signatureId);
    if (typeof recipient === 'string') return { status: 'SKIPPED', detail: recipient };
    // With immediate confirmation, anyone can enter the address of someone else.
    if (!(await this.budget.reserve(requestId, recipient.email!)))
      return { status: 'SKIPPED', detail: 'The mailbox has received its emails for the day.' };
    const [signed] = await this.store.readStream(organizationId, signatureId, { version: 1 });
    // The language of the page that was signed; null: unknown.
    const language = (signed?.data.language as string | null | undefined) ?? null;
    const isProved = signed !== undefined && !isAutomatic && !isBySystem(signed);
    const current = await this.letters.current(organizationId, petitionId, language);
    if (!current) return { status: 'SKIPPED', detail: 'The petition no longer has a thank-you email.' };
    const { writing, blockers } = current;
    if (!writing || blockers.length > 0)
      return { status: 'FAILED', detail: blockers.map(({ blocker }) => blocker).join(', ') };
    let letter;
    try {
      letter = await this.messageBuilder.write(writing, isProved ? recipient : withoutClaims(recipient));
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      return { status: 'WAITING', detail: error.message, isRejected: true };
    }
    const message = this.messageBuilder.message(writing, letter, recipient.email!, `thanks.${signatureId}`);
    const stopped = new AbortController();
    let failure: unknown;
    /** Messages wait for the mail server and MAIL_RATE. In that time, the signer may have been erased. */
    const recheck = async () => {
      try {
        const now = await this.recipientOf(organizationId, signatureId);
        if (typeof now === 'string' || now.email !== recipient.email) stopped.abort();
      } catch (error) {
        failure = error;
        stopped.abort();
      }
    };
    const { outcome, detail, ...refused } = await this.mailer
      .send({ ...message, automatic: true }, AbortSignal.any([signal, stopped.signal]), recheck)
      .catch((error: unknown) => ({ outcome: 'in-doubt' as const, detail: describeError(error) }));
    if (outcome === 'unreachable' && failure !== undefined) throw failure as Error;
    switch (outcome) {
      case 'sent':
        return { status: 'SENT', detail };
      case 'in-doubt':
        return { status: 'IN_DOUBT', detail };
      case 'unreachable':
        return { status: stopped.signal.aborted ? 'SKIPPED' : 'WAITING', detail };
      case 'refused':
        return 'permanent' in refused && refused.permanent
          ? { status: 'FAILED', detail }
          : { status: 'WAITING', detail, isRejected: true };
    }
  }

  /** The contact who has the signature now, or why it receives nothing. */
  private async recipientOf(organizationId: string, signatureId: string): Promise<Recipient | string> {
    const { state } = await this.records.load(signature.decider, organizationId, signatureId);
    if (state.status !== 'standing') return 'The signature was withdrawn.';
    const [recipient] = await this.reachable.find(organizationId, [state.subjectId], {
      mustBeSubscribed: false,
    });
    return recipient!;
  }
}

function isBySystem({ metadata }: RecordedEvent): boolean {
  return metadata.actor.type === 'system';
}

/** The recipient of an email to an address that anyone may have entered: only with names that can be names. */
function withoutClaims({ id, email, firstName, lastName, ...others }: Recipient): Recipient {
  const unknown = Object.fromEntries(Object.keys(others).map((field) => [field, null]));
  const names = { firstName: unprovedName(firstName), lastName: unprovedName(lastName) };
  return { ...unknown, id, email, ...names, customFields: {} } as Recipient;
}
