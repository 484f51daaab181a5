import { newId } from '#libs/random';
import { type Claim, type Decision } from '#libs/commands';
import { type ConsentFields, evidenceOf } from './consent/consent-fields.js';
import { type Consents } from './consent/consents.js';
import { emailClaims } from './contact-address.js';
import { contactWrite } from './contact-stream.js';
import { type ContactChanges, createContact, type ExistingContact, updateContact } from './contact.js';

/** The fields of a contact that may or may not exist. */
export type GivenContact = ContactChanges & { email: string; consent?: ConsentFields };

/** The context of writes to contacts. */
type Writing = { organizationId: string; consents: Consents };

/** Creates a contact. If another one has its address, `taken` decides about that one. */
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

/** Merges the given details into the contact with the address. Null values are ignored. */
export async function mergeContact(
  { organizationId, consents }: Writing,
  contactId: string,
  { state, version }: { state: ExistingContact; version: number },
  { consent, ...given }: GivenContact,
): Promise<Decision> {
  const details = Object.entries(given).filter(([, value]) => value !== null);
  // The spelling of the address stays as it was recorded first.
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
