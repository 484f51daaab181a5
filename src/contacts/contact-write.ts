import { v7 as uuidv7 } from 'uuid';
import { type Claim, type Decision } from '#libs/commands';
import { type StreamWrite } from '#libs/event-store';
import { comparableEmail, RpcError } from '#libs/rpc';
import {
  contact,
  type ContactChanges,
  type ContactEvent,
  createContact,
  type StandingContact,
  updateContact,
} from './contact.js';

/** Events for a contact's stream; the contact is the subject of its personal data. */
export function contactWrite(
  contactId: string,
  expectedVersion: number,
  events: ContactEvent[],
): StreamWrite {
  return {
    streamType: contact.streamType,
    streamId: contactId,
    expectedVersion,
    events,
    subjectId: contactId,
  };
}

/** What describes a contact that may be new or may be there already. */
export type GivenContact = ContactChanges & { email: string };

/** A new contact, unless another has its address: then what `taken` decides of that one. */
export function newContact(given: GivenContact, taken: Claim['taken']): Decision {
  const contactId = uuidv7();
  return {
    recordId: contactId,
    writes: [contactWrite(contactId, 0, createContact(given))],
    claims: emailClaims(given.email, contactId, taken),
  };
}

/** The details given, merged into the contact that has the address; what is null says nothing. */
export function mergeContact(
  contactId: string,
  { state, version }: { state: StandingContact; version: number },
  given: GivenContact,
): Decision {
  const details = Object.entries(given).filter(([, value]) => value !== null);
  // The address is the same however it is written, and stays as the person's record has it.
  const changes = { ...(Object.fromEntries(details) as ContactChanges), email: undefined };
  return {
    recordId: contactId,
    writes: [contactWrite(contactId, version, updateContact(state, changes))],
  };
}

/** One live contact per organization and address. */
export function emailClaims(email: string, contactId: string, taken: Claim['taken']): Claim[] {
  return emailKeys(email).map((value) => ({ value, streamId: contactId, taken }));
}

/**
 * What is unique about an address: the form in which it is compared, and before it, where it differs, the one in
 * which version 0.1.0 compared. Contacts of that time hold nothing else, and instances of it ask for nothing else.
 */
export function emailKeys(email: string): string[][] {
  return [...new Set([earlierForm(email), comparableEmail(email)])].map((form) => ['contact.email', form]);
}

function earlierForm(email: string): string {
  return email.normalize('NFC').toLowerCase();
}

/** What a contact's keys must become when its address does; both addresses may be the same. */
export function moveEmail(
  before: string,
  after: string,
  contactId: string,
  taken: Claim['taken'],
): Pick<Decision, 'claims' | 'releases'> {
  // Of the address as it is, an old contact may hold the earlier form alone: another key of it is claimed only
  // with another form, so that what makes no difference never meets a second contact of the same person.
  if (earlierForm(before) === earlierForm(after)) return {};
  const kept = new Set(emailKeys(after).map(String));
  return {
    claims: emailClaims(after, contactId, taken),
    releases: emailKeys(before)
      .filter((key) => !kept.has(String(key)))
      .map((value) => ({ value, streamId: contactId })),
  };
}

export function emailTaken(advice: string): RpcError {
  const message = `Another contact of your organization has this e-mail address. ${advice}`;
  return new RpcError('CONFLICT', message, { reason: 'EMAIL_TAKEN' });
}
