import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { type RecordedEvent } from '#libs/event-store';
import { formatNumber } from '#libs/pages';
import { Projections } from '#libs/projections';
import { type Subscription, Subscriptions } from '#libs/subscriptions';
import { broadcast } from '../broadcasts/index.js';
import { organization } from '../organizations/index.js';
import { type ExistingPetition, petition, RecentSignatures } from '../petitions/index.js';
import { webhook } from '../webhooks/index.js';
import { COMMENTS_WAITING, PAUSE_MS } from './comments-waiting.js';
import { type Matter, NotificationMails } from './notification-mails.js';

/**
 * Signatures of the first minute may all be the first one: instances append at the same time, and their clocks differ. The
 * email is sent only once.
 */
const FIRST_MINUTE_MS = 60_000;
/** When so many petitions are known to have signatures, they are forgotten. */
const MAX_KNOWN = 10_000;

/** After this time, what happened is no longer news. */
const TOO_LATE_MS = 3 * 86_400_000;

type Write = (event: RecordedEvent) => Promise<Matter | undefined>;

/** Tells members what happened, if they want to know. */
@Injectable()
export class Notifications implements Subscription {
  readonly name = 'notifications';
  private readonly matters: Record<string, Write> = {
    PetitionSigned: (event) => this.signed(event),
    PetitionGoalReached: (event) => this.goalReached(event),
    BroadcastSent: (event) => this.broadcastSent(event),
    BroadcastHindered: (event) => this.broadcastHindered(event),
    WebhookDisabled: (event) => this.webhookDisabled(event),
  };
  readonly handles = Object.keys(this.matters);
  readonly begins = 'now';
  /** Petitions that were signed more than a minute before one of their signatures, whose other signatures are left out. */
  private readonly signedBefore = new Set<string>();
  /** Signatures that were chosen only for their comment. Retried events are chosen for both. */
  private readonly onlyComments = new WeakSet<RecordedEvent>();

  constructor(
    private readonly records: RecordReader,
    private readonly projections: Projections,
    private readonly signatures: RecentSignatures,
    private readonly mails: NotificationMails,
    private readonly subscriptions: Subscriptions,
  ) {}

  /** Of the signatures of a petition, the first one, and the first one with a public comment. */
  choose(events: readonly RecordedEvent[]): RecordedEvent[] {
    const seen = new Set<string>();
    const isNew = (key: string) => seen.size < seen.add(key).size;
    return events.filter((event) => {
      if (event.type !== 'PetitionSigned') return true;
      const { petitionId, isCommentPublic } = event.data as { petitionId: string; isCommentPublic?: boolean };
      const isFirst = isNew(petitionId) && !this.signedBefore.has(petitionId);
      const hasComment = isCommentPublic === true && isNew(`comment ${petitionId}`);
      if (!isFirst) this.onlyComments.add(event);
      return isFirst || hasComment;
    });
  }

  async handle(event: RecordedEvent, signal: AbortSignal): Promise<void> {
    // No longer news, for example after a return to an earlier version and another upgrade.
    if (Date.now() - event.recordedAt.getTime() > TOO_LATE_MS) return;
    const matter = await this.matters[event.type]!(event);
    if (matter) await this.mails.send(matter, signal);
  }

  private async signed(event: RecordedEvent): Promise<Matter | undefined> {
    const { organizationId, position, type, recordedAt, data } = event;
    const petitionId = data.petitionId as string;
    const found = await this.petitionOf(organizationId, petitionId);
    if (!found) return undefined;
    if (data.isCommentPublic === true && found.comments === 'APPROVED') {
      const dueAt = new Date(Date.now() + PAUSE_MS);
      await this.subscriptions.timers.begin(COMMENTS_WAITING, { organizationId, id: petitionId, dueAt });
    }
    if (this.onlyComments.has(event)) return undefined;
    await this.projections.catchUp(position, [type]);
    const before = new Date(recordedAt.getTime() - FIRST_MINUTE_MS);
    if (await this.signatures.hadBefore(organizationId, petitionId, before)) {
      if (this.signedBefore.size >= MAX_KNOWN) this.signedBefore.clear();
      this.signedBefore.add(petitionId);
      return undefined;
    }
    // On paper, or elsewhere, some time ago.
    const signedAt = data.signedAt as string | null | undefined;
    if (signedAt && Date.parse(signedAt) < before.getTime()) return undefined;
    return {
      organizationId,
      notification: 'firstSignature',
      id: petitionId,
      write: ({ emails }) => {
        const { subject, text, button } = emails.notifications.firstSignature;
        return {
          subject: subject(found.title),
          paragraphs: [text(found.title)],
          button: { path: `petitions/${petitionId}`, text: button },
        };
      },
    };
  }

  private async goalReached({ organizationId, data }: RecordedEvent): Promise<Matter | undefined> {
    const { petitionId, goal, signatures } = data as { petitionId: string; goal: number; signatures: number };
    const found = await this.petitionOf(organizationId, petitionId);
    if (!found) return undefined;
    return {
      organizationId,
      notification: 'goalReached',
      id: petitionId,
      write: (words) => {
        const { subject, text, button } = words.emails.notifications.goalReached;
        const number = (count: number) => formatNumber(words.site.dates, count);
        return {
          subject: subject(found.title),
          paragraphs: [text({ petition: found.title, goal: number(goal), signatures: number(signatures) })],
          button: { path: `petitions/${petitionId}`, text: button },
        };
      },
    };
  }

  private async broadcastSent(event: RecordedEvent): Promise<Matter | undefined> {
    const { organizationId, streamId: broadcastId, eventId, data } = event;
    const name = await this.broadcastName(organizationId, broadcastId);
    if (name === undefined) return undefined;
    const { sent, failed, skipped, inDoubt } = data as Record<
      'sent' | 'failed' | 'skipped' | 'inDoubt',
      number
    >;
    return {
      organizationId,
      notification: 'broadcastFinished',
      id: eventId,
      write: (words) => {
        const texts = words.emails.notifications.broadcastFinished;
        const number = (count: number) => formatNumber(words.site.dates, count);
        const figures = [
          texts.sent(sent, number(sent)),
          ...(failed > 0 ? [texts.failed(failed, number(failed))] : []),
          ...(inDoubt > 0 ? [texts.inDoubt(inDoubt, number(inDoubt))] : []),
          ...(skipped > 0 ? [texts.skipped(skipped, number(skipped))] : []),
        ];
        return {
          subject: texts.subject(name),
          paragraphs: [texts.text(name), figures.join('\n')],
          button: { path: `broadcasts/${broadcastId}`, text: texts.button },
        };
      },
    };
  }

  private async broadcastHindered(event: RecordedEvent): Promise<Matter | undefined> {
    const { organizationId, streamId: broadcastId, eventId } = event;
    const name = await this.broadcastName(organizationId, broadcastId);
    if (name === undefined) return undefined;
    return {
      organizationId,
      notification: 'broadcastFinished',
      id: eventId,
      write: ({ emails }) => {
        const { hindered } = emails.notifications.broadcastFinished;
        return {
          subject: hindered.subject(name),
          paragraphs: [hindered.text(name)],
          button: { path: `broadcasts/${broadcastId}`, text: hindered.button },
        };
      },
    };
  }

  private async webhookDisabled(event: RecordedEvent): Promise<Matter | undefined> {
    const { organizationId, streamId: webhookId, eventId } = event;
    const { state } = await this.records.look(webhook, organizationId, webhookId);
    if (state.status !== 'DISABLED') return undefined;
    const { state: owner } = await this.records.look(organization, organizationId, organizationId);
    return {
      organizationId,
      notification: 'webhookDisabled',
      id: eventId,
      // `WebhookDisabledMail` writes to the organization's own address.
      exceptTo: owner.status === 'unknown' ? null : owner.email,
      write: ({ emails }, name) => {
        const { subject, text, button } = emails.notifications.webhookDisabled;
        return {
          subject: subject(name),
          paragraphs: text(state.url).split('\n\n'),
          button: { path: `webhooks/${webhookId}`, text: button },
        };
      },
    };
  }

  /** Undefined if the petition was deleted since. */
  private async petitionOf(
    organizationId: string,
    petitionId: string,
  ): Promise<ExistingPetition | undefined> {
    const { state } = await this.records.look(petition, organizationId, petitionId);
    return 'title' in state ? state : undefined;
  }

  /** Undefined if the broadcast was deleted since. */
  private async broadcastName(organizationId: string, broadcastId: string): Promise<string | undefined> {
    const { state } = await this.records.look(broadcast, organizationId, broadcastId);
    return 'name' in state ? state.name : undefined;
  }
}
