import { localeNear } from '#locales';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RecordReader } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { domainOf, Mailer, type MailOutcome } from '#libs/mail';
import { brandOf, senderOf } from '../organizations/index.js';
import { PublicAddress } from '../config/index.js';
import { canonicalEmail } from '../contacts/index.js';
import { writeMail } from './write-confirmation-mail.js';

/** Begins the id of the message. */
const PREFIXES = { signature: 'signature', signUp: 'sign-up' };
/** Emails to one mailbox per day, over all petitions and forms. */
const MAX_PER_DAY = 3;

/** Asks a person to confirm a request, or reports that they have signed before. */
export type ConfirmationMail = {
  organizationId: string;
  requestId: string;
  about: 'signature' | 'signUp';
  to: string;
  firstName: string | null;
  /** Of the petition or form, and its page. */
  title: string;
  url: string;
  /** null: the organization's. */
  language: string | null;
  /** The page that confirms the request; null if the address has already signed. */
  confirmUrl: string | null;
};

/** Sends people a link to confirm what they sent from a page of the site. */
@Injectable()
export class ConfirmationMails {
  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
    private readonly records: RecordReader,
    private readonly mailer: Mailer,
    private readonly address: PublicAddress,
  ) {}

  /**
   * Reserves one of the day's emails to a mailbox, across all organizations. Returns false if none is left.
   *
   * A request keeps its reservation, so that a failed email can be retried.
   */
  async reserve(requestId: string, email: string): Promise<boolean> {
    const mailbox = this.store.keyring.hash('confirmation mail', canonicalEmail(email));
    const rows = await this.source.query<unknown[]>(
      `INSERT INTO confirmation_mails AS m (mailbox, day, requests)
       VALUES ($1, (clock_timestamp() AT TIME ZONE 'UTC')::date, ARRAY[$2::uuid])
       ON CONFLICT (mailbox) DO UPDATE SET day = excluded.day, requests = CASE
         WHEN m.day < excluded.day THEN excluded.requests
         WHEN $2 = ANY (m.requests) THEN m.requests
         ELSE m.requests || $2::uuid END
       WHERE m.day < excluded.day OR cardinality(m.requests) < $3 OR $2 = ANY (m.requests)
       RETURNING mailbox`,
      [mailbox, requestId, MAX_PER_DAY],
    );
    return rows.length > 0;
  }

  /** Deletes the counts of past days. */
  async forget(): Promise<void> {
    await this.source.query(
      `DELETE FROM confirmation_mails WHERE day < (clock_timestamp() AT TIME ZONE 'UTC')::date - 1`,
    );
  }

  async send(mail: ConfirmationMail, signal: AbortSignal): Promise<MailOutcome> {
    const { organizationId, requestId, about, to } = mail;
    const sender = await senderOf(this.records, organizationId);
    const from = this.mailer.senderFor(sender.name, sender.mailFrom);
    const locale = localeNear(mail.language ?? sender.language, sender.language);
    const name = from.name ?? sender.name;
    const brand = await brandOf(this.records, organizationId, { ...sender, name }, this.address);
    const written = { ...mail, brand, postalAddress: sender.postalAddress };
    return this.mailer.send(
      {
        organizationId,
        from,
        replyTo: sender.replyTo,
        to,
        ...writeMail(locale, written),
        messageId: `${PREFIXES[about]}.${requestId}@${domainOf(from)}`,
        automatic: true,
      },
      signal,
    );
  }
}
