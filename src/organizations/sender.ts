import { createHash } from 'node:crypto';
import { changedFields } from '#libs/commands';
import { type Decider, streamIdOf } from '#libs/event-store';
import { type MailAddress } from '#libs/mail';

/** In which the organization writes to people. */
export const LANGUAGES = ['en', 'de', 'fr', 'es'] as const;

/** As whom the organization writes to people, of which nothing is about a person. */
export type SenderFields = {
  /** null: as whom the operator says (`MAIL_FROM`). */
  mailFrom: MailAddress | null;
  replyTo: string | null;
  /** May have several lines. */
  postalAddress: string | null;
  language: (typeof LANGUAGES)[number];
};

export type SenderEvent = { type: 'SenderUpdated'; data: Partial<SenderFields> };

/** A stream beside the organization's own, as `publicLog` is: versions that do not know its event never load it. */
export const sender: Decider<SenderFields, SenderEvent> = {
  streamType: 'sender',
  initial: { mailFrom: null, replyTo: null, postalAddress: null, language: 'en' },
  events: { SenderUpdated: true },
  evolve: (state, { data }) => ({ ...state, ...data }),
};

/** One for each organization, which whoever has its id can tell. */
export function senderId(organizationId: string): string {
  return streamIdOf(createHash('sha256').update(`sender ${organizationId}`).digest());
}

/** @param given what is left out stays as it is. */
export function updateSender(state: SenderFields, given: Partial<SenderFields>): SenderEvent[] {
  const data = changedFields(state, given);
  return data ? [{ type: 'SenderUpdated', data }] : [];
}
