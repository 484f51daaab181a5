import { type Folded } from '#libs/event-store';
import { type Resource } from '#libs/resources';
import { canonicalEmail, eraseWithContacts, exportWithPersons } from '../contacts/index.js';
import { type PersonDetails, type Requested, type RequestKind, type RequestState } from './request.js';

/** All records that requests were ever sent to, deleted ones included: one index lookup per record. */
const requestedIn = (links: string) => `
  WITH RECURSIVE requested AS (
    (SELECT record_id AS id FROM ${links} WHERE organization_id = $1 ORDER BY record_id LIMIT 1)
    UNION ALL
    SELECT (SELECT p.record_id FROM ${links} p
            WHERE p.organization_id = $1 AND p.record_id > requested.id ORDER BY p.record_id LIMIT 1)
    FROM requested WHERE requested.id IS NOT NULL
  )
  SELECT id FROM requested WHERE id IS NOT NULL`;

/**
 * Erases and exports open requests with the contact of their address. They belong to no contact, so they are found by their
 * mailbox.
 *
 * @param resource whose second kind of links are the open requests.
 */
export function endWithContacts<Data extends Requested, Person extends PersonDetails>(
  kind: RequestKind<Data, Person>,
  resource: Resource,
): void {
  const { streamType } = kind.decider;
  const { key, exported, person: personField } = kind.names;

  /** The open requests of mailboxes. */
  async function requestsOf(
    { records, store, source }: Parameters<Parameters<typeof eraseWithContacts>[0]>[0],
    organizationId: string,
    emails: readonly string[],
  ): Promise<Map<string, Folded<RequestState<Data, Person>>>> {
    const open = await source.query<{ id: string }[]>(requestedIn(resource.otherLinkTable!), [
      organizationId,
    ]);
    const mailboxes = [...new Set(emails.map(canonicalEmail))];
    const keys = open.flatMap(({ id }) =>
      mailboxes.map((mailbox) => store.keyring.hash(...key(id, mailbox))),
    );
    const owners =
      keys.length === 0 ? new Map<string, string>() : await store.findOwners(organizationId, keys);
    return records.loadMany(kind.decider, organizationId, [...new Set(owners.values())]);
  }

  eraseWithContacts(async (reads, organizationId, emails) => {
    const found = await requestsOf(reads, organizationId, emails);
    const writes = [...found].map(([streamId, { state, version }]) => ({
      streamType,
      streamId,
      expectedVersion: version,
      events: kind.expire(state, 'ERASED'),
      subjectId: streamId,
    }));
    const ended = writes.filter(({ events }) => events.length > 0);
    const ids = ended.map(({ streamId }) => streamId);
    return { writes: ended, erases: ids, releasesAll: ids, isAwaited: ended.length > 0 };
  });

  exportWithPersons(exported, async function* (from, { organizationId, emails }, source) {
    const found = await requestsOf({ ...from, source }, organizationId, emails);
    yield [...found].flatMap(([id, { state, createdAt }]) => {
      if (state.status !== 'PENDING') return [];
      const { status: _, recordId: _record, person, ...requested } = state;
      return [{ id, createdAt, ...requested, [personField]: person }];
    });
  });
}
