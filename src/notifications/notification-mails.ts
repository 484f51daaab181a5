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
  /** Identifies the matter among those of this notification, so that it is sent to each member once. */
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
   * Emails everyone who wants this notification and whose role may see what it is about, in the organization's language.
   * After a crash, the member whose email was being sent may get it again, with the same Message-ID.
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
      const sent = await this.mailer.send(
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
      if (sent.outcome === 'unreachable')
        throw new Error(`The notification could not be sent: ${sent.detail}.`);
      if (sent.outcome === 'refused' && !sent.permanent) later = sent.detail;
      else await this.remember(matter, memberId);
      if (sent.outcome === 'refused' && sent.permanent)
        this.logger.warn({
          message: 'a notification was rejected',
          notification,
          memberId,
          detail: sent.detail,
        });
    }
    if (later !== undefined) throw new Error(`The notification could not be sent: ${later}.`);
  }

  private async recipientsOf({ organizationId, notification, id, exceptTo }: Matter): Promise<Recipient[]> {
    const members = (await this.team.reachable(organizationId)).filter(
      ({ role, email }) =>
        (!exceptTo || comparableEmail(email) !== comparableEmail(exceptTo)) &&
        notificationsFor(role).includes(notification),
    );
    if (members.length === 0) return [];
    const rows = await this.source.query<{ member_id: string }[]>(
      'SELECT member_id FROM notification_mails WHERE organization_id = $1 AND notification = $2 AND matter = $3',
      [organizationId, notification, id],
    );
    const done = new Set(rows.map(({ member_id }) => member_id));
    const wanting: Recipient[] = [];
    for (const member of members) {
      if (done.has(member.memberId)) continue;
      const { state } = await this.records.look(
        notificationSettings,
        organizationId,
        settingsIdOf(member.memberId),
      );
      if (state[notification]) wanting.push(member);
    }
    return wanting;
  }

  private async remember({ organizationId, notification, id }: Matter, memberId: string): Promise<void> {
    await this.source.query(
      `INSERT INTO notification_mails (organization_id, notification, matter, member_id) VALUES ($1, $2, $3, $4)
       ON CONFLICT DO NOTHING`,
      [organizationId, notification, id, memberId],
    );
  }

  /** Forgets emails that are too old to be sent again. */
  async forgetOld(organizationId: string): Promise<void> {
    await this.source.query(
      `DELETE FROM notification_mails WHERE organization_id = $1 AND sent_at < clock_timestamp() - interval '30 days'`,
      [organizationId],
    );
  }
}
