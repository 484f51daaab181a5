import { localeIn } from '#locales';
import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { domainOf, Mailer, type MailOutcome, writeLetter } from '#libs/mail';
import { brandOf, senderOf } from '../organizations/index.js';
import { PublicAddress } from '../config/index.js';
import { DAYS_TO_ACCEPT } from './member.js';
import { Team } from './team.js';

/** The emails that contain a link to sign in. */
@Injectable()
export class TeamMails {
  constructor(
    private readonly records: RecordReader,
    private readonly team: Team,
    private readonly mailer: Mailer,
    private readonly address: PublicAddress,
  ) {}

  /** @param eventId of the invitation. A retry sends the same message again. */
  async invite(
    invitation: { organizationId: string; eventId: string; userId: string; to: string; url: string },
    signal: AbortSignal,
  ): Promise<MailOutcome> {
    const { organizationId, eventId, userId, to, url } = invitation;
    const sender = await senderOf(this.records, organizationId);
    // The sender is the operator's address: bounces quote the link, and inviters may be able to read bounces
    // to their own address.
    const from = { ...this.mailer.senderFor(sender.name), name: sender.name };
    const { language, emails } = localeIn(sender.language);
    const { subject, text, button, deadline, ignore } = emails.invitation;
    const letter = writeLetter({
      language,
      brand: await brandOf(this.records, organizationId, sender, this.address),
      subject: subject(sender.name),
      paragraphs: text(sender.name).split('\n\n'),
      button: { url, text: button },
      after: [deadline(DAYS_TO_ACCEPT), ignore],
      foot: [sender.name],
    });
    return this.mailer.send(
      {
        organizationId: await this.ownerOf(userId, organizationId),
        from,
        replyTo: sender.replyTo,
        to,
        ...letter,
        messageId: `invitation.${eventId}@${domainOf(from)}`,
        automatic: true,
      },
      signal,
    );
  }

  /** @param language of the user who requested the link. */
  async letIn(
    link: { id: string; userId: string; to: string; url: string; minutes: number; language: string },
    signal: AbortSignal,
  ): Promise<MailOutcome> {
    const { host } = new URL(this.address.url);
    const from = this.mailer.senderFor(host);
    const { language, emails } = localeIn(link.language);
    const { subject, text, button, deadline, ignore } = emails.signIn;
    const letter = writeLetter({
      language,
      subject,
      paragraphs: text(host).split('\n\n'),
      button: { url: link.url, text: button },
      after: [deadline(link.minutes), ignore],
      foot: [host],
    });
    return this.mailer.send(
      {
        organizationId: await this.ownerOf(link.userId),
        from,
        replyTo: null,
        to: link.to,
        ...letter,
        messageId: `sign-in.${link.id}@${domainOf(from)}`,
        automatic: true,
      },
      signal,
    );
  }

  /**
   * The organization whose owners may read an email that signs someone in. The link works for all of the
   * person's organizations, so if there are several, the result is null.
   *
   * @param organizationId of the invitation.
   */
  private async ownerOf(userId: string, organizationId?: string): Promise<string | null> {
    const memberships = await this.team.membershipsOf(userId);
    const theirs = new Set(memberships.map((one) => one.organizationId));
    if (organizationId !== undefined) theirs.add(organizationId);
    const [only = null, ...others] = theirs;
    return others.length === 0 ? only : null;
  }
}
