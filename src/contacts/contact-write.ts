import { newId } from '#libs/random';
import { type Claim, type Decision } from '#libs/commands';
import { type ConsentFields, evidenceOf } from './consent/consent-fields.js';
import { type Consents } from './consent/consents.js';
import { emailClaims } from './contact-address.js';
import { contactWrite } from './contact-stream.js';
import { type ContactChanges, createContact, type ExistingContact, updateContact } from './contact.js';

/** What describes a contact that may be new or may be there already. */
export type GivenContact = ContactChanges & { email: string; consent?: ConsentFields };

/** What contacts are written with. */
type Writing = { organizationId: string; consents: Consents };

/** A new contact, unless another has its address: then what `taken` decides of that one. */
export function newContact(
  { organizationId, consents }: Writing,
  { consent, ...given }: GivenContact,
  taken: Claim['taken'],
): Decision {
  const contactId = newId();
  const { subscribed = true } = given;
  return {
    recordId: contactId,
    writes: [
      contactWrite(contactId, 0, createContact(given)),
      ...consents.ofNew(organizationId, contactId, subscribed, evidenceOf(consent)),
    ],
    claims: emailClaims(given.email, contactId, taken),
  };
}

/** The details given, merged into the contact that has the address; what is null says nothing. */
export async function mergeContact(
  { organizationId, consents }: Writing,
  contactId: string,
  { state, version }: { state: ExistingContact; version: number },
  { consent, ...given }: GivenContact,
): Promise<Decision> {
  const details = Object.entries(given).filter(([, value]) => value !== null);
  // The address is the same however it is written, and stays as the person's record has it.
  const changes = { ...(Object.fromEntries(details) as ContactChanges), email: undefined };
  const events = updateContact(state, changes);
  const { subscribed = state.subscribed } = changes;
  const evidence = evidenceOf(consent);
  return {
    recordId: contactId,
    writes: [
      contactWrite(contactId, version, events),
      ...(await consents.ofChange(organizationId, { contactId, version, events }, subscribed, evidence)),
    ],
  };
}
