import { eraseWithContacts } from '../contacts/index.js';
import { suppressionIdOf } from './suppression-id.js';
import { suppression } from './suppression.js';
import { erasureOf } from './suppressions.js';

/**
 * An address that was suppressed while no contact had it has a key of its own, which goes when a contact goes that has it or
 * ever had it. All others are encrypted with the contact's.
 */
eraseWithContacts(async ({ records, store }, organizationId, emails) => {
  const ids = emails.map((email) => suppressionIdOf(store.keyring, organizationId, email));
  const found = await records.loadMany(suppression, organizationId, ids);
  const addressIds = [...found.values()].flatMap(({ state }) => state.addressId ?? []);
  return addressIds.length > 0 ? erasureOf(records, organizationId, addressIds) : { writes: [], erases: [] };
});
