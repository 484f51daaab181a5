import { eraseWithContacts } from '../contacts/index.js';
import { suppressionIdOf } from './suppression-id.js';
import { suppression } from './suppression.js';
import { erasureOf } from './suppressions.js';

/**
 * Erases addresses that were suppressed while no contact had them. They have their own key, which is
 * destroyed when a contact who has or ever had the address is erased. All others are encrypted with the
 * contact's key.
 */
eraseWithContacts(async ({ records, store }, organizationId, emails) => {
  const ids = emails.map((email) => suppressionIdOf(store.keyring, organizationId, email));
  const found = await records.loadMany(suppression, organizationId, ids);
  const addressIds = [...found.values()].flatMap(({ state }) => state.addressId ?? []);
  return addressIds.length > 0 ? erasureOf(records, organizationId, addressIds) : { writes: [], erases: [] };
});
