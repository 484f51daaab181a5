import { eraseWithContacts } from '../contacts/index.js';
import { canonicalEmail } from './canonical-email.js';
import { requestKey } from './mailbox-keys.js';
import { petitions } from './petitions.js';
import { expireRequest, signatureRequest } from './signature-request.js';

/**
 * All petitions that were ever signed on their page, deleted ones included: one index lookup per petition.
 */
const REQUESTED = `
  WITH RECURSIVE requested AS (
    (SELECT record_id AS id FROM ${petitions.otherLinkTable} WHERE organization_id = $1 ORDER BY record_id LIMIT 1)
    UNION ALL
    SELECT (SELECT p.record_id FROM ${petitions.otherLinkTable} p
            WHERE p.organization_id = $1 AND p.record_id > requested.id ORDER BY p.record_id LIMIT 1)
    FROM requested WHERE requested.id IS NOT NULL
  )
  SELECT id FROM requested WHERE id IS NOT NULL`;

/** An unconfirmed signature belongs to no contact, so it is found by its mailbox. */
eraseWithContacts(async ({ records, store, source }, organizationId, emails) => {
  const open = await source.query<{ id: string }[]>(REQUESTED, [organizationId]);
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
