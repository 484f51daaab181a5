import { type Folded } from '#libs/event-store';
import { eraseWithContacts, exportWithPersons } from '../contacts/index.js';
import { canonicalEmail } from '../contacts/index.js';
import { requestKey } from './mailbox-keys.js';
import { petitions } from './petitions.js';
import { expireRequest, signatureRequest, type SignatureRequest } from './signature-request.js';

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
eraseWithContacts(async (reads, organizationId, emails) => {
  const found = await requestsOf(reads, organizationId, emails);
  const writes = [...found].map(([streamId, { state, version }]) => ({
    streamType: signatureRequest.streamType,
    streamId,
    expectedVersion: version,
    events: expireRequest(state, 'ERASED'),
    subjectId: streamId,
  }));
  const ended = writes.filter(({ events }) => events.length > 0);
  const ids = ended.map(({ streamId }) => streamId);
  return { writes: ended, erases: ids, releasesAll: ids, isAwaited: ended.length > 0 };
});

exportWithPersons('pendingSignatures', async function* (from, { organizationId, emails }, source) {
  const found = await requestsOf({ ...from, source }, organizationId, emails);
  yield [...found].flatMap(([id, { state, createdAt }]) => {
    if (state.status !== 'PENDING') return [];
    const { status: _, ...requested } = state;
    return [{ id, createdAt, ...requested }];
  });
});

/** The open requests of mailboxes. */
async function requestsOf(
  { records, store, source }: Parameters<Parameters<typeof eraseWithContacts>[0]>[0],
  organizationId: string,
  emails: readonly string[],
): Promise<Map<string, Folded<SignatureRequest>>> {
  const open = await source.query<{ id: string }[]>(REQUESTED, [organizationId]);
  const mailboxes = [...new Set(emails.map(canonicalEmail))];
  const keys = open.flatMap(({ id }) =>
    mailboxes.map((mailbox) => store.keyring.hash(...requestKey(id, mailbox))),
  );
  const owners = keys.length === 0 ? new Map<string, string>() : await store.findOwners(organizationId, keys);
  return records.loadMany(signatureRequest, organizationId, [...new Set(owners.values())]);
}
