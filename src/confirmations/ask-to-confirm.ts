import { Injectable, Logger } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { Commands, RecordReader } from '#libs/commands';
import { type RecordedEvent } from '#libs/event-store';
import { Input, inputOf } from '#libs/rpc';
import { reactionTo, Subscriptions } from '#libs/subscriptions';
import { canonicalEmail } from '../contacts/index.js';
import { type ConfirmationMail, ConfirmationMails } from './confirmation-mails.js';
import { Confirmations } from './confirmations.js';
import {
  DAYS_TO_CONFIRM,
  type PendingRequest,
  type PersonDetails,
  type Requested,
  type RequestKind,
} from './request.js';

const NAME_OF_PERSON = /^[\p{L}\p{M}'’ -]{1,40}$/u;

/**
 * A name for an email to an address that no one has proved; null if it is more than letters, spaces, apostrophes and hyphens.
 * Otherwise, anyone could send advertisements in it.
 */
export function unprovedName(name: string | null): string | null {
  return name !== null && NAME_OF_PERSON.test(name) ? name : null;
}

/**
 * An identical request within this time is treated as impatience: the confirmation email may still be unread.
 */
const REPEATED_WITHIN_MS = 10 * 60_000;

/**
 * What a request is for, in the language in which it was sent. `url`: its page; null if the operator has disabled the public site.
 * `query`: what the address of the page ends with, to show it in that language.
 */
type Target = {
  title: string;
  confirmation: 'EMAIL' | 'NONE';
  url: string | null;
  language?: string | null;
  query?: string;
};

/** What differs between kinds of requests. */
type Asking<Data> = {
  /** The name of the subscription. */
  name: string;
  mail: ConfirmationMail['about'];
  /** Undefined if it was deleted. */
  find(organizationId: string, recordId: string, requested: Data): Promise<Target | undefined>;
  /** Confirms a request that needs no confirmation by email. */
  confirm(reaction: Reaction): Promise<unknown>;
  /** Whether the person behind the address has done before what they request. */
  isDone(organizationId: string, recordId: string, email: string): Promise<boolean>;
};

type Pending<Data extends Requested, Person extends PersonDetails> = PendingRequest<Data, Person>;

/** The person's input, without the parts that depend on when and from where it was sent. */
function inputIn<Data extends Requested, Person extends PersonDetails>(
  pending: Pending<Data, Person>,
): object {
  const { person, suspicion: _, ...requested } = pending;
  const { clientAddress: _address, ...written } = person;
  return { ...requested, ...written };
}

/** The commands of the subscriptions. They are not operations of the API. */
export class Reaction extends Input {
  requestId!: string;
}

/**
 * Emails people a link to confirm what they sent from a page of the site. Whether they have done so before is checked here,
 * after the page has responded, so neither the response nor its timing reveals it.
 */
@Injectable()
export class AskToConfirm {
  private readonly logger = new Logger('signatures');

  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly subscriptions: Subscriptions,
    private readonly confirmations: Confirmations,
    private readonly mails: ConfirmationMails,
  ) {}

  /** @param event that begins a request of this kind. */
  async ask<Data extends Requested, Person extends PersonDetails>(
    kind: RequestKind<Data, Person>,
    event: RecordedEvent,
    signal: AbortSignal,
    asking: Asking<Data>,
  ): Promise<void> {
    const { organizationId, streamId: requestId, recordedAt } = event;
    const { state } = await this.confirmations.load(kind, { organizationId, requestId });
    if (state.status !== 'PENDING' || !state.person) return;
    const dueAt = new Date(recordedAt.getTime() + DAYS_TO_CONFIRM * 24 * 3_600_000);
    await this.subscriptions.timers.set(kind.names.timer, { organizationId, id: requestId, dueAt });

    const { recordId, person, suspicion } = state;
    const input = reactionOf(asking, event);
    if (!(await this.claimMailbox(kind, input, { ...state, person }, recordedAt))) return;
    const target = await asking.find(organizationId, recordId, state);
    if (!target) return;
    const { confirmation, title, url, language = null, query = '' } = target;
    // Suspicious requests always need a confirmation.
    if (confirmation === 'NONE' && suspicion.length === 0) {
      await asking.confirm(input);
      return;
    }

    const isDone = await asking.isDone(organizationId, recordId, person.email);
    if (url !== null && (await this.mails.reserve(requestId, person.email))) {
      const token = this.confirmations.tokenOf(kind, { organizationId, requestId });
      const { email: to, firstName } = person;
      await this.send(
        {
          organizationId,
          requestId,
          about: asking.mail,
          to,
          firstName: unprovedName(firstName),
          title,
          language,
          confirmUrl: isDone ? null : `${url}/confirm/${token}${query}`,
          url: url + query,
        },
        signal,
      );
    }
    if (isDone) await this.confirmations.expire(kind, input, requestId, 'SIGNED_BEFORE');
  }

  /** @throws Error if the message can still be delivered, so that it is retried. */
  private async send(mail: ConfirmationMail, signal: AbortSignal): Promise<void> {
    const { outcome, detail } = await this.mails.send(mail, signal);
    const { requestId } = mail;
    switch (outcome) {
      case 'sent':
        return;
      // Duplicates are worse than a missing email: without one, the person can send the form again.
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
   * Of several requests from one person for one record, only the last stays open; links to the others lead
   * to it. The older request stays open if the same input is repeated within minutes, or if the mailbox has
   * received its emails for the day. Otherwise anyone who knows the address could move the person's link from
   * one request to the next.
   *
   * @returns whether this request stays open.
   */
  private async claimMailbox<Data extends Requested, Person extends PersonDetails>(
    kind: RequestKind<Data, Person>,
    input: Reaction,
    pending: Pending<Data, Person>,
    recordedAt: Date,
  ): Promise<boolean> {
    const { organizationId, requestId } = input;
    const value = kind.names.key(pending.recordId, canonicalEmail(pending.person.email));
    for (;;) {
      const { state, version } = await this.confirmations.load(kind, { organizationId, requestId });
      if (state.status !== 'PENDING') return false;
      const owner = await this.commands.claim(input, { streamId: requestId, version }, value);
      if (owner === requestId) return true;
      if (owner === undefined) continue;
      // Ids are in order of creation.
      const isLater = owner > requestId;
      if (!isLater && (await this.yieldsTo(kind, owner, input, pending, recordedAt))) {
        await this.confirmations.expire(kind, input, requestId, 'ASKED_AGAIN', owner);
        return false;
      }
      const [ends, by] = isLater ? [requestId, owner] : [owner, requestId];
      await this.confirmations.expire(kind, input, ends, 'ASKED_AGAIN', by);
      if (isLater) return false;
    }
  }

  /** Whether the older request stays open instead of this one. */
  private async yieldsTo<Data extends Requested, Person extends PersonDetails>(
    kind: RequestKind<Data, Person>,
    owner: string,
    { organizationId, requestId }: Reaction,
    pending: Pending<Data, Person>,
    recordedAt: Date,
  ): Promise<boolean> {
    const { state, createdAt } = await this.records.look(kind.decider, organizationId, owner);
    if (state.status !== 'PENDING' || !state.person) return false;
    const isSoon = createdAt !== null && recordedAt.getTime() - createdAt.getTime() < REPEATED_WITHIN_MS;
    if (isSoon && isDeepStrictEqual(inputIn({ ...state, person: state.person }), inputIn(pending)))
      return true;
    return !(await this.mails.reserve(requestId, pending.person.email));
  }
}

/**
 * One event leads to several commands, so they cannot share its idempotency key. Each is idempotent by its
 * effect.
 */
function reactionOf({ name }: { name: string }, event: RecordedEvent): Reaction {
  const { idempotencyKey: _, ...context } = reactionTo(event, name);
  return inputOf(Reaction, { requestId: event.streamId }, context);
}
