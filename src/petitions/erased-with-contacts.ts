import { eraseWithContacts } from '../contacts/index.js';
import { canonicalEmail } from './canonical-email.js';
import { requestKey } from './mailbox-keys.js';
import { petitions } from './petitions.js';
import { expireRequest, signatureRequest } from './signature-request.js';

/** What somebody has written on a page and not confirmed yet is nobody's contact: it is found by the mailbox. */
eraseWithContacts(async ({ records, store, source }, organizationId, emails) => {
  const [, pending = ''] = petitions.countColumns;
  const open = await source.query<{ id: string }[]>(
    `SELECT id FROM ${petitions.table} WHERE organization_id = $1 AND ${pending} > 0`,
    [organizationId],
  );
  if (open.length === 0) return { writes: [], erases: [] };
  const mailboxes = [...new Set(emails.map(canonicalEmail))];
  const keys = open.flatMap(({ id }) =>
    mailboxes.map((mailbox) => store.keyring.hash(...requestKey(id, mailbox))),
  );
  const owners = [...new Set((await store.findOwners(organizationId, keys)).values())];
  const found = await records.loadMany(signatureRequest, organizationId, owners);
  const writes = [...found].map(([streamId, { state, version }]) => ({
    streamType: signatureRequest.streamType,
    streamId,
    expectedVersion: version,
    events: expireRequest(state, 'ERASED'),
    subjectId: streamId,
  }));
  const ended = writes.filter(({ events }) => events.length > 0);
  const ids = ended.map(({ streamId }) => streamId);
  return { writes: ended, erases: ids, releasesAll: ids };
});
