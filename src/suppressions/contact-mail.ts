import { createHash } from 'node:crypto';
import { type Decider, streamIdOf } from '#libs/event-store';

type Reported = {
  contactId: string;
  /** The Message-ID without <>, if it was reported and is one of this server. It leads to the broadcast's recipient. */
  messageId: string | null;
};

export type ContactMailEvent =
  | { type: 'ContactBounced'; data: Reported }
  | { type: 'ContactComplained'; data: Reported };

/** Reports about email to a contact, and about which message. */
export type ContactMail = { reported: readonly string[] };

/**
 * A stream next to the contact's own: earlier versions that do not know its events never load it. It contains
 * no personal data. The contact is its subject, so it ends with the contact.
 */
export const contactMail: Decider<ContactMail, ContactMailEvent> = {
  streamType: 'contact-mail',
  initial: { reported: [] },
  events: { ContactBounced: true, ContactComplained: true },
  evolve: ({ reported }, { type, data }) => ({
    reported: data.messageId === null ? reported : [...reported, nameOf(type, data.messageId)],
  }),
};

/** Derived from the contact's id. */
export function contactMailId(contactId: string): string {
  return streamIdOf(createHash('sha256').update(`contact-mail ${contactId}`).digest());
}

/** Whether the same was already reported of this message. */
export function isReported(
  { reported }: ContactMail,
  type: ContactMailEvent['type'],
  messageId: string,
): boolean {
  return reported.includes(nameOf(type, messageId));
}

function nameOf(type: ContactMailEvent['type'], messageId: string): string {
  return `${type} ${messageId}`;
}
