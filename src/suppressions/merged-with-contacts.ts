import { mergeWithContacts } from '../contacts/index.js';
import { suppressionIdOf } from './suppression-id.js';
import { suppressAddress, suppression } from './suppression.js';
import { suppressionWrite } from './suppressions.js';

/** A bounce is not an objection. */
const OBJECTIONS: readonly string[] = ['UNSUBSCRIBED', 'COMPLAINED', 'MANUAL'];

/**
 * An objection against any address is one of the person. The addresses of unsubscribed duplicates are suppressed: no contact has
 * them after the merge, so a later import of an old file would subscribe the person again.
 */
mergeWithContacts(async ({ records, store }, organizationId, { survivorId, addresses }) => {
  const [kept, ...others] = addresses;
  const all = [...(kept ? [kept] : []), ...others].map((address) => ({
    ...address,
    id: suppressionIdOf(store.keyring, organizationId, address.email),
  }));
  const found = await records.loadMany(
    suppression,
    organizationId,
    all.map(({ id }) => id),
  );
  const refused = [...found.values()].some(({ state }) =>
    state.reasons.some((one) => OBJECTIONS.includes(one)),
  );
  const writes = all.slice(kept ? 1 : 0).flatMap(({ id, email, isUnsubscribed }) => {
    if (!isUnsubscribed) return [];
    const { state, version } = found.get(id)!;
    const holder = { contactId: survivorId, addressId: null };
    const events = suppressAddress(state, 'UNSUBSCRIBED', email, holder);
    return events.length > 0 ? [suppressionWrite(id, version, events, holder)] : [];
  });
  return { refused, writes };
});
