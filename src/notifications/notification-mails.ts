import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RecordReader } from '#libs/commands';
import { domainOf, Mailer, writeLetter } from '#libs/mail';
import { comparableEmail } from '#libs/rpc';
import { localeIn, type Locale } from '#locales';
import { PublicAddress } from '../config/index.js';
import { brandOf, senderOf } from '../organizations/index.js';
import { type Recipient, Team } from '../team/index.js';
import { type Notification, notificationSettings, notificationsFor, settingsIdOf } from './notification.js';
import { OffLinks } from './off-links.js';

/** One matter of an organization, and how to write about it. */
export type Matter = {
  organizationId: string;
  notification: Notification;
  /** Identifies the matter among those of this notification, so that each member gets it once. */
  id: string;
  write: (words: Locale, organization: string, recipient: Recipient) => Text | undefined;
  /** Who gets an email about it in another way. */
  exceptTo?: string | null;
};

/** `path`: of the dashboard's page about it, relative to the organization. */
export type Text = {
  subject: string;
  paragraphs: readonly string[];
  button: { path: string; text: string };
};

/** Longer than the mail server may take for one message. After a crash, no one else sends the email for this time. */
const CLAIM_SECONDS = 180;
/** Temporary refusals after which an email is given up, such as those of a full mailbox. */
const MOST_REFUSALS = 6;

/** Sends notifications to the members who want them. */
@Injectable()
export class NotificationMails {
  private readonly logger = new Logger('notifications');

  constructor(
    private readonly source: DataSource,
    private readonly records: RecordReader,
    private readonly team: Team,
    private readonly mailer: Mailer,
    private readonly links: OffLinks,
    private readonly address: PublicAddress,
  ) {}

  /**
   * Emails everyone who wants this notification and whose role may see what it is about, in the organization's language. Each
   * email is sent by whoever claims it. Only a crash while the mail server answers can make it arrive twice, with the same
   * Message-ID.
   *
   * @throws Error if an email can still be delivered, so that the caller tries again. Members who have theirs are left out then.
   */
  async send(matter: Matter, signal: AbortSignal): Promise<void> {
    const { organizationId, notification, id } = matter;
    const recipients = await this.recipientsOf(matter);
    if (recipients.length === 0) return;
    const sender = await senderOf(this.records, organizationId);
    const words = localeIn(sender.language);
    const brand = await brandOf(this.records, organizationId, sender, this.address);
    const from = this.mailer.senderFor(sender.name, sender.mailFrom);
    const texts = words.emails.notifications;
    const dashboard = `${this.address.url}/dashboard/${organizationId}`;
    let later: string | undefined;
    for (const recipient of recipients) {
      const { memberId, email } = recipient;
      const text = matter.write(words, sender.name, recipient);
      if (!text) continue;
      const claim = await this.claim(matter, memberId);
      if (claim === 'BUSY') later = 'another attempt has not ended yet';
      if (claim !== 'CLAIMED') continue;
      const offUrl = this.links.urlOf({ notification, organizationId, memberId });
      const letter = writeLetter({
        language: words.language,
        brand,
        subject: text.subject,
        paragraphs: text.paragraphs,
        button: { url: [dashboard, text.button.path].filter(Boolean).join('/'), text: text.button.text },
        foot: [texts.why(sender.name)],
        links: [
          { url: offUrl, text: texts.off },
          { url: `${dashboard}/notifications`, text: texts.settings },
        ],
      });
      const outcome = await this.mailer.send(
        {
          organizationId,
          from,
          replyTo: null,
          to: email,
          ...letter,
          messageId: `${notification}.${id}.${memberId}@${domainOf(from)}`,
          headers: {
            'List-Unsubscribe': `<${offUrl}>`,
            'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
          },
          automatic: true,
        },
        signal,
      );
      const { detail } = outcome;
      if (outcome.outcome === 'unreachable') {
        await this.release(matter, memberId, 0);
        throw new Error(`The notification could not be sent: ${detail}.`);
      }
      if (outcome.outcome !== 'refused') {
        await this.settle(matter, memberId);
        continue;
      }
      const isFinal = outcome.permanent || (await this.release(matter, memberId, 1)) >= MOST_REFUSALS;
      if (!isFinal) later = detail;
      else {
        await this.settle(matter, memberId);
        this.logger.warn({ message: 'a notification was rejected', notification, memberId, detail });
      }
    }
    if (later !== undefined) throw new Error(`A notification could not be sent: ${later}.`);
  }

  private async recipientsOf({ organizationId, notification, exceptTo }: Matter): Promise<Recipient[]> {
    const members = (await this.team.reachable(organizationId)).filter(
      ({ role, email }) =>
        (!exceptTo || comparableEmail(email) !== comparableEmail(exceptTo)) &&
        notificationsFor(role).includes(notification),
    );
    const wanting: Recipient[] = [];
    for (const member of members) {
      const settingsId = settingsIdOf(member.memberId);
      const { state } = await this.records.look(notificationSettings, organizationId, settingsId);
      if (state[notification]) wanting.push(member);
    }
    return wanting;
  }

  private async claim(matter: Matter, memberId: string): Promise<'CLAIMED' | 'BUSY' | 'SETTLED'> {
    const key = keyOf(matter, memberId);
    const claimed = await this.source.query<unknown[]>(
      `INSERT INTO notification_mails (organization_id, notification, matter, member_id, claimed_until)
       VALUES ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => ${CLAIM_SECONDS}))
       ON CONFLICT (organization_id, notification, matter, member_id) DO UPDATE SET claimed_until = excluded.claimed_until
       WHERE notification_mails.settled_at IS NULL AND notification_mails.claimed_until < clock_timestamp()
       RETURNING 1`,
      key,
    );
    if (claimed.length > 0) return 'CLAIMED';
    const [row] = await this.source.query<{ settled_at: Date | null }[]>(
      `SELECT settled_at FROM notification_mails WHERE ${OF_KEY}`,
      key,
    );
    return row?.settled_at ? 'SETTLED' : 'BUSY';
  }

  /** Lets others send the email. @returns how often it was refused */
  private async release(matter: Matter, memberId: string, refusals: 0 | 1): Promise<number> {
    const [[row]] = await this.source.query<[{ refusals: number }[], number]>(
      `UPDATE notification_mails SET claimed_until = clock_timestamp(), refusals = refusals + $5 WHERE ${OF_KEY}
       RETURNING refusals`,
      [...keyOf(matter, memberId), refusals],
    );
    return row?.refusals ?? 0;
  }

  private async settle(matter: Matter, memberId: string): Promise<void> {
    await this.source.query(
      `UPDATE notification_mails SET settled_at = clock_timestamp() WHERE ${OF_KEY}`,
      keyOf(matter, memberId),
    );
  }

  /** Forgets emails that are too old to be sent again. */
  async forgetOld(organizationId: string): Promise<void> {
    await this.source.query(
      `DELETE FROM notification_mails
       WHERE organization_id = $1 AND claimed_until < clock_timestamp() - interval '30 days'`,
      [organizationId],
    );
  }
}

const OF_KEY = 'organization_id = $1 AND notification = $2 AND matter = $3 AND member_id = $4';

function keyOf({ organizationId, notification, id }: Matter, memberId: string): string[] {
  return [organizationId, notification, id, memberId];
}
