import { Injectable, Logger } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { Commands, RecordReader } from '#libs/commands';
import { type RecordedEvent } from '#libs/event-store';
import { Input, inputOf, OperationRunner, type OwnFields } from '#libs/rpc';
import { reactionTo, type Subscription, Subscriptions } from '#libs/subscriptions';
import { canonicalEmail } from '../contacts/index.js';
import { ConfirmSignature } from './confirm-signature.js';
import { ConfirmationMails } from './confirmation-mails.js';
import { EXPIRY_TIMER, ExpireRequest } from './expire-request.js';
import { requestKey } from './mailbox-keys.js';
import { PetitionAddress } from './petition-address.js';
import { exists, petition } from './petition.js';
import {
  DAYS_TO_CONFIRM,
  type ExpiryReason,
  type Requested,
  signatureRequest,
  type SignerDetails,
} from './signature-request.js';
import { SignatureRequests } from './signature-requests.js';
import { Signers } from './signers.js';

const NAME = 'signature-requests';
/**
 * Letters, spaces, apostrophes and hyphens only, so that no one can put an advertisement into the greeting.
 */
const NAME_OF_PERSON = /^[\p{L}\p{M}'’ -]{1,40}$/u;

/**
 * An identical request within this time is treated as impatience: the confirmation email may still be unread.
 */
const REPEATED_WITHIN_MS = 10 * 60_000;

type Pending = Requested & { signer: SignerDetails };

/** The signer's input, without the parts that depend on when and from where it was sent. */
function signerInputOf({
  petitionId,
  source,
  isCommentPublic,
  subscribe,
  appearance,
  signer,
}: Pending): object {
  const { clientAddress: _, ...written } = signer;
  return { petitionId, source, isCommentPublic, subscribe, appearance, ...written };
}

/** The command of this subscription. It is not an operation of the API. */
class ClaimRequest extends Input {
  requestId!: string;
}

/**
 * Emails signers on a petition's page a link to confirm their signature. Whether they have signed or
 * requested before is checked here, after the page has responded, so neither the response nor its timing
 * reveals it.
 */
@Injectable()
export class AskToConfirm implements Subscription {
  readonly name = NAME;
  readonly handles = ['SignatureRequested'];
  readonly begins = 'at the first event';
  private readonly logger = new Logger('signatures');

  constructor(
    private readonly runner: OperationRunner,
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly subscriptions: Subscriptions,
    private readonly requests: SignatureRequests,
    private readonly signers: Signers,
    private readonly mails: ConfirmationMails,
    private readonly addresses: PetitionAddress,
  ) {}

  async handle(event: RecordedEvent, signal: AbortSignal): Promise<void> {
    const { organizationId, streamId: requestId, recordedAt } = event;
    const { state } = await this.requests.load({ organizationId, requestId });
    if (state.status !== 'PENDING' || !state.signer) return;
    const dueAt = new Date(recordedAt.getTime() + DAYS_TO_CONFIRM * 24 * 3_600_000);
    await this.subscriptions.timers.set(EXPIRY_TIMER, { organizationId, id: requestId, dueAt });

    const { petitionId, signer, suspicion } = state;
    const isTrusted = suspicion.length === 0;
    if (!(await this.claimMailbox(event, state, signer))) return;
    const folded = await this.records.look(petition, organizationId, petitionId);
    if (!exists(folded.state)) return;
    const { confirmation, title } = folded.state;
    // Suspicious signatures always need a confirmation.
    if (confirmation === 'NONE' && isTrusted) {
      await this.runner.execute(this.input(event, ConfirmSignature, { requestId, isProved: false }));
      return;
    }

    const hasSigned = (await this.signers.find(organizationId, petitionId, signer.email)) !== undefined;
    const petitionUrl = await this.addresses.of(organizationId, petitionId, folded.state);
    if (petitionUrl !== null && (await this.mails.reserve(requestId, signer.email))) {
      const token = this.requests.tokenOf({ organizationId, requestId });
      const { email: to, firstName } = signer;
      await this.send(
        {
          organizationId,
          requestId,
          to,
          firstName: firstName !== null && NAME_OF_PERSON.test(firstName) ? firstName : null,
          petition: title,
          confirmUrl: hasSigned ? null : `${petitionUrl}/confirm/${token}`,
          petitionUrl,
        },
        signal,
      );
    }
    if (hasSigned) await this.expire(event, requestId, 'SIGNED_BEFORE', null);
  }

  /** @throws Error if the message can still be delivered, so that it is retried. */
  private async send(mail: Parameters<ConfirmationMails['send']>[0], signal: AbortSignal): Promise<void> {
    const { outcome, detail } = await this.mails.send(mail, signal);
    const { requestId } = mail;
    switch (outcome) {
      case 'sent':
        return;
      // Duplicates are worse than a missing email: without one, the signer can sign again.
      case 'in-doubt':
        this.logger.warn({
          message: 'it is unknown whether a confirmation email was sent',
          requestId,
        });
        return;
      case 'refused':
        this.logger.log({ message: 'the mail server rejected a confirmation email', requestId, detail });
        return;
      case 'unreachable':
        throw new Error(`The confirmation email could not be sent: ${detail}`);
    }
  }

  /**
   * Of several requests from one person for one petition, only the last stays open; links to the others lead
   * to it. The older request stays open if the same input is repeated within minutes, or if the mailbox has
   * received its emails for the day. Otherwise anyone who knows the address could move the signer's link from
   * one request to the next.
   *
   * @returns whether this request stays open.
   */
  private async claimMailbox(
    event: RecordedEvent,
    requested: Requested,
    signer: SignerDetails,
  ): Promise<boolean> {
    const { organizationId, streamId: requestId } = event;
    const { petitionId } = requested;
    const { email } = signer;
    const value = requestKey(petitionId, canonicalEmail(email));
    const input = this.input(event, ClaimRequest, { requestId });
    for (;;) {
      const { state, version } = await this.requests.load({ organizationId, requestId });
      if (state.status !== 'PENDING') return false;
      const owner = await this.commands.claim(input, { streamId: requestId, version }, value);
      if (owner === requestId) return true;
      if (owner === undefined) continue;
      // Ids are in order of creation.
      const isLater = owner > requestId;
      if (!isLater && (await this.yieldsTo(event, owner, { ...requested, signer }))) {
        await this.expire(event, requestId, 'ASKED_AGAIN', owner);
        return false;
      }
      const [ends, by] = isLater ? [requestId, owner] : [owner, requestId];
      await this.expire(event, ends, 'ASKED_AGAIN', by);
      if (isLater) return false;
    }
  }

  /** Whether the older request stays open instead of this one. */
  private async yieldsTo(event: RecordedEvent, owner: string, requested: Pending): Promise<boolean> {
    const { organizationId, streamId: requestId, recordedAt } = event;
    const { state, createdAt } = await this.records.look(signatureRequest, organizationId, owner);
    if (state.status !== 'PENDING' || !state.signer) return false;
    const isSoon = createdAt !== null && recordedAt.getTime() - createdAt.getTime() < REPEATED_WITHIN_MS;
    if (
      isSoon &&
      isDeepStrictEqual(signerInputOf({ ...state, signer: state.signer }), signerInputOf(requested))
    )
      return true;
    return !(await this.mails.reserve(requestId, requested.signer.email));
  }

  private async expire(
    event: RecordedEvent,
    requestId: string,
    reason: ExpiryReason,
    by: string | null,
  ): Promise<void> {
    await this.runner.execute(this.input(event, ExpireRequest, { requestId, reason, by }));
  }

  /**
   * One event leads to several commands, so they cannot share its idempotency key. Each is idempotent by its
   * effect.
   */
  private input<T extends Input>(event: RecordedEvent, type: new () => T, fields: OwnFields<T>): T {
    const { idempotencyKey: _, ...context } = reactionTo(event, NAME);
    return inputOf(type, fields, context);
  }
}
