import { newId } from '#libs/random';
import { type Claim, type Decision } from '#libs/commands';
import { emailClaims } from './contact-address.js';
import { contactWrite } from './contact-stream.js';
import { type ContactChanges, createContact, type StandingContact, updateContact } from './contact.js';

/** What describes a contact that may be new or may be there already. */
export type GivenContact = ContactChanges & { email: string };

/** A new contact, unless another has its address: then what `taken` decides of that one. */
export function newContact(given: GivenContact, taken: Claim['taken']): Decision {
  const contactId = newId();
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
