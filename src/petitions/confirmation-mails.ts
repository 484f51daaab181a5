import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RecordReader } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { isSenderAddress, Mailer, type MailOutcome } from '#libs/mail';
import { senderOf } from '../organizations/index.js';
import { PublicAddress } from '../config/index.js';
import { canonicalEmail } from './canonical-email.js';
import { wordsOf, writeMail } from './confirmation-words.js';

/** To one mailbox a day, over all petitions. */
const MOST_A_DAY = 3;

/** What there is to confirm, or that there is nothing any more. */
export type ConfirmationMail = {
  organizationId: string;
  requestId: string;
  to: string;
  firstName: string | null;
  petition: string;
  /** Of the page that confirms; null: who asks has signed already. */
  confirmUrl: string | null;
  petitionUrl: string;
};

/** Asks people by mail whether it was they who have signed. */
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
   * One of the mails that a mailbox gets that day, whichever organizations ask: false where it has had them.
   *
   * A request that has its mail keeps it, so that one that could not be handed over can be tried again.
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
      [mailbox, requestId, MOST_A_DAY],
    );
    return rows.length > 0;
  }

  /** What is known of days that are over. */
  async forget(): Promise<void> {
    await this.source.query(
      `DELETE FROM confirmation_mails WHERE day < (clock_timestamp() AT TIME ZONE 'UTC')::date - 1`,
    );
  }

  async send(mail: ConfirmationMail, signal: AbortSignal): Promise<MailOutcome> {
    const { organizationId, requestId, to } = mail;
    const sender = await senderOf(this.records, organizationId);
    const from = sender.mailFrom ?? this.mailer.defaultFrom ?? this.nobody(sender.name);
    const words = wordsOf(sender.language);
    const domain = from.address.slice(from.address.lastIndexOf('@') + 1);
    const written = { ...mail, organization: from.name ?? sender.name, postalAddress: sender.postalAddress };
    return this.mailer.send(
      {
        organizationId,
        from,
        replyTo: sender.replyTo,
        to,
        subject:
          mail.confirmUrl === null ? words.already.subject(mail.petition) : words.subject(mail.petition),
        ...writeMail(words, sender.language, written),
        messageId: `signature.${requestId}@${domain}`,
        automatic: true,
      },
      signal,
    );
  }

  /** Whoever has set no sender at all: better a mail from here than none. */
  private nobody(name: string): { name: string; address: string } {
    const address = `no-reply@${new URL(this.address.url).hostname}`;
    return { name, address: isSenderAddress(address) ? address : 'no-reply@localhost.localdomain' };
  }
}
