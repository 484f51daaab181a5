import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { formatNumber } from '#libs/pages';
import { type Due, Subscriptions, type Timer } from '#libs/subscriptions';
import { petition, PublicComments } from '../petitions/index.js';
import { type Matter, NotificationMails } from './notification-mails.js';

export const COMMENTS_WAITING = 'comments-waiting';

/** From the first comment to the email: more comments may follow, or someone sees it in the dashboard. */
export const PAUSE_MS = 10 * 60_000;
/** From one email about a petition to the next. */
const DAY_MS = 86_400_000;
/** By which clocks of instances may differ. */
const MINUTE_MS = 60_000;
/** More are not counted. */
const MOST = 1_000;

/** Tells members that comments of a petition wait for approval. */
@Injectable()
export class CommentsWaiting implements Timer {
  readonly name = COMMENTS_WAITING;

  constructor(
    private readonly records: RecordReader,
    private readonly comments: PublicComments,
    private readonly mails: NotificationMails,
    private readonly subscriptions: Subscriptions,
  ) {}

  async fire({ organizationId, id: petitionId, dueAt }: Due, signal: AbortSignal): Promise<void> {
    const { state } = await this.records.look(petition, organizationId, petitionId);
    if (!('title' in state) || state.comments !== 'APPROVED') return;
    // The email a day before was about the others that wait.
    const since = new Date(dueAt.getTime() - DAY_MS);
    const countedAt = Date.now();
    const count = async (...options: [most: number, since?: Date]) =>
      (await this.comments.waiting(organizationId, [petitionId], ...options)).get(petitionId)!;
    if ((await count(1, since)) === 0) return;
    const waiting = await count(MOST);
    const matter: Matter = {
      organizationId,
      notification: 'commentWaiting',
      id: `${petitionId}.${dueAt.getTime()}`,
      write: (words) => {
        const { subject, text, button } = words.emails.notifications.commentWaiting;
        const count = `${formatNumber(words.site.dates, waiting)}${waiting < MOST ? '' : '+'}`;
        return {
          subject: subject(waiting, count, state.title),
          paragraphs: [text(waiting, count, state.title)],
          button: { path: `petitions/${petitionId}/signatures?commentState=WAITING`, text: button },
        };
      },
    };
    await this.mails.send(matter, signal);
    // A day after this email was due: comments that were written while it was sent belong to the next one.
    const start = dueAt.getTime() + DAY_MS > countedAt ? dueAt.getTime() : countedAt - MINUTE_MS;
    await this.subscriptions.timers.set(this.name, {
      organizationId,
      id: petitionId,
      dueAt: new Date(start + DAY_MS),
    });
  }
}
