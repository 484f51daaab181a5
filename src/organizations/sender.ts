import { createHash } from 'node:crypto';
import { changedFields } from '#libs/commands';
import { type Decider, streamIdOf } from '#libs/event-store';
import { type MailAddress } from '#libs/mail';

/** The languages of pages and emails. */
export const LANGUAGES = ['en', 'de', 'fr', 'es'] as const;

/** The sender of an organization's emails. Contains no personal data. */
export type SenderFields = {
  /** null: the operator's sender (`MAIL_FROM`). */
  mailFrom: MailAddress | null;
  replyTo: string | null;
  /** Can have several lines. */
  postalAddress: string | null;
  language: (typeof LANGUAGES)[number];
};

export type SenderEvent = { type: 'SenderUpdated'; data: Partial<SenderFields> };

/**
 * A stream next to the organization's own, like `publicLog`: earlier versions that do not know its event
 * never load it.
 */
export const sender: Decider<SenderFields, SenderEvent> = {
  streamType: 'sender',
  initial: { mailFrom: null, replyTo: null, postalAddress: null, language: 'en' },
  events: { SenderUpdated: true },
  evolve: (state, { data }) => ({ ...state, ...data }),
};

/** Derived from the organization's id. */
export function senderId(organizationId: string): string {
  return streamIdOf(createHash('sha256').update(`sender ${organizationId}`).digest());
}

/** @param given fields that are left out stay unchanged. */
export function updateSender(state: SenderFields, given: Partial<SenderFields>): SenderEvent[] {
  const data = changedFields(state, given);
  return data ? [{ type: 'SenderUpdated', data }] : [];
}
