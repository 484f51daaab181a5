import { exportWithPersons } from '../contacts/index.js';
import { eventRecord } from './event-record.js';

/** Events per page. A page has at most 1 MiB. */
const PAGE = 500;

/** Events of the contact and of other records about it, newest first. */
exportWithPersons('events', async function* ({ store }, { organizationId, contactId }) {
  let before: number | undefined;
  for (;;) {
    const { events, hasMore } = await store.readAbout(organizationId, contactId, PAGE, before);
    yield events.map(eventRecord);
    before = events.at(-1)?.position;
    if (!hasMore || before === undefined) return;
  }
});
