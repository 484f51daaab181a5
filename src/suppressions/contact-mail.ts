import { createHash } from 'node:crypto';
import { type Decider, streamIdOf } from '#libs/event-store';

/** `messageId` (without <>) where the provider gave one that may be ours: by it a broadcast finds its recipient. */
type Reported = { contactId: string; messageId: string | null };

export type ContactMailEvent =
  | { type: 'ContactBounced'; data: Reported }
  | { type: 'ContactComplained'; data: Reported };

/** What became of mail to a contact: what was reported of which message. */
export type ContactMail = { reported: readonly string[] };

/**
 * A stream beside the contact's own: versions of this program that do not know its events never load it. Nothing in it is
 * personal; the contact is its subject, so that it ends with the contact.
 */
export const contactMail: Decider<ContactMail, ContactMailEvent> = {
  streamType: 'contact-mail',
  initial: { reported: [] },
  events: { ContactBounced: true, ContactComplained: true },
  evolve: ({ reported }, { type, data }) => ({
    reported: data.messageId === null ? reported : [...reported, nameOf(type, data.messageId)],
  }),
};

/** One for each contact, which whoever has its id can tell. */
export function contactMailId(contactId: string): string {
  return streamIdOf(createHash('sha256').update(`contact-mail ${contactId}`).digest());
}

/** Whether this was said of this message before. */
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
