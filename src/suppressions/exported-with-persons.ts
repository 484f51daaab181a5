import { exportWithPersons } from '../contacts/index.js';
import { suppressionIdOf } from './suppression-id.js';
import { suppression } from './suppression.js';

/** Addresses per query. */
const PAGE = 100;

exportWithPersons('suppressions', async function* ({ store, records }, { organizationId, emails }) {
  for (let n = 0; n < emails.length; n += PAGE) {
    const page = emails.slice(n, n + PAGE);
    const ids = page.map((email) => suppressionIdOf(store.keyring, organizationId, email));
    const found = await records.loadMany(suppression, organizationId, ids);
    yield page.flatMap((email, at) => {
      const state = found.get(ids[at]!)?.state;
      return state && state.reasons.length > 0 ? [{ email, reasons: state.reasons, since: state.since }] : [];
    });
  }
});
