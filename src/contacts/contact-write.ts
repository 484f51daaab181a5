import { newId } from '#libs/random';
import { type Claim, type Decision } from '#libs/commands';
import { invalid } from '#libs/rpc';
import { type ConsentFields, evidenceOf } from './consent/consent-fields.js';
import { type Consents } from './consent/consents.js';
import { emailClaims, emailTaken, moveEmail } from './contact-address.js';
import { MOST_EXTERNAL_IDS } from './contact-columns.js';
import { externalIdClaims, externalIdTaken, moveExternalIds } from './external-ids.js';
import { contactWrite } from './contact-stream.js';
import {
  type ContactChanges,
  createContact,
  type ExistingContact,
  hasEmail,
  updateContact,
} from './contact.js';

/** The fields of a contact that may or may not exist. */
export type GivenContact = ContactChanges & { email: string; consent?: ConsentFields };

/** The context of writes to contacts. */
type Writing = { organizationId: string; consents: Consents };

/**
 * Creates a contact. If another one has its address, `taken` decides about that one.
 *
 * @param idTaken decides about a contact that has one of its external ids. Default: throws EXTERNAL_ID_TAKEN.
 */
export function newContact(
  { organizationId, consents }: Writing,
  { consent, ...given }: GivenContact,
  taken: Claim['taken'],
  idTaken: Parameters<typeof externalIdClaims>[2] = (owner, externalId) =>
    Promise.reject(externalIdTaken(externalId, owner)),
): Decision {
  const contactId = newId();
  const { subscribed = true, externalIds = [] } = given;
  return {
    recordId: contactId,
    writes: [
      contactWrite(contactId, 0, createContact(given)),
      ...consents.ofNew(organizationId, contactId, subscribed, evidenceOf(consent)),
    ],
    // External ids identify a person more reliably, so they are compared first.
    claims: [
      ...externalIdClaims(externalIds, contactId, idTaken),
      ...emailClaims(given.email, contactId, taken),
    ],
  };
}

/**
 * Merges the given details into the contact with the address or with one of the external ids. Null values are ignored,
 * and external ids are added.
 */
export async function mergeContact(
  { organizationId, consents }: Writing,
  contactId: string,
  { state, version }: { state: ExistingContact; version: number },
  { consent, ...given }: GivenContact,
): Promise<Decision> {
  const details = Object.entries(given).filter(([, value]) => value !== null);
  const before = state.details.email!;
  // The spelling of the address stays as it was recorded first. A contact found by an external id gets the new one.
  const email = hasEmail(state, given.email) ? before : given.email;
  const externalIds = [...new Set([...state.externalIds, ...(given.externalIds ?? [])])];
  if (externalIds.length > MOST_EXTERNAL_IDS)
    throw invalid([
      { path: 'externalIds', message: `would exceed ${MOST_EXTERNAL_IDS} together with the existing ones` },
    ]);
  const changes = { ...(Object.fromEntries(details) as ContactChanges), email, externalIds };
  const events = updateContact(state, changes);
  const moved = moveEmail(before, email, contactId, (owner) =>
    Promise.reject(
      emailTaken(
        owner,
        'Merge the two contacts with contact.merge-contacts, or send the address of this one.',
      ),
    ),
  );
  const ids = moveExternalIds(state.externalIds, externalIds, contactId);
  const { subscribed = state.subscribed } = changes;
  const evidence = evidenceOf(consent);
  return {
    recordId: contactId,
    writes: [
      contactWrite(contactId, version, events),
      ...(await consents.ofChange(organizationId, { contactId, version, events }, subscribed, evidence)),
    ],
    claims: [...ids.claims, ...(moved.claims ?? [])],
    releases: [...ids.releases, ...(moved.releases ?? [])],
  };
}
