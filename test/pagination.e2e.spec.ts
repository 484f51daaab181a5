import { v7 as uuidv7 } from 'uuid';
import { type Sql } from '#libs/database';
import { findRows, type Listing } from '#libs/projections';
import { contactsProjection } from '../src/contacts/index.js';
import { Api, type Client } from './harness.js';
import { isLong } from './length.js';

const CONTACTS = isLong ? 10_000 : 3_000;
/** The number of contacts per append. */
const CHUNK = 1_000;

let api: Api;
let client: Client;
const original = new Set<string>();
beforeAll(async () => {
  api = await Api.start();
  client = await api.organization();
  const { store, projections } = api.instances[0]!.runtime;
  const metadata = { actor: { type: 'system', id: 'test' }, requestId: 'test' } as const;
  for (let chunk = 0; chunk < CONTACTS / CHUNK; chunk += 1) {
    const writes = Array.from({ length: CHUNK }, (_, n) => {
      const streamId = uuidv7();
      original.add(streamId);
      // Many share a timestamp, so that pages begin and end between equal values.
      const personal = { email: `contact-${(n * 7_919) % CHUNK}-${chunk}@example.org` };
      const events = [{ type: 'ContactCreated', data: { subscribed: true }, personal }];
      return { streamType: 'contact', streamId, expectedVersion: 0, events, subjectId: streamId };
    });
    await store.append({ organizationId: client.organizationId, metadata, writes });
  }
  await projections.catchUp(await store.lastPosition());
});
afterAll(() => api.stop());

let added = 0;
async function add(): Promise<void> {
  const { organizationId } = client;
  const email = `contact-500-added-${(added += 1)}@example.org`;
  expect((await client.post('contact.create-contact', { organizationId, email })).status).toBe(200);
}

it.each(['-createdAt', 'email'])(
  `by %s: each of ${CONTACTS} contacts appears exactly once while others are added`,
  async (sort) => {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const query = { sort, limit: '100', ...(cursor ? { cursor } : {}) };
      const [{ body }] = await Promise.all([client.get('contact.list-contacts', query), add()]);
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.pagination.cursor ?? undefined;
    } while (cursor);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => original.has(id))).toHaveLength(CONTACTS);
  },
);

it('the last page reads as little from the database as the first', async () => {
  const { source } = api.instances[0]!.runtime;
  let read = 0;
  const counting: Sql = {
    async query(text: string, values: unknown[]) {
      const [row] = await source.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values);
      const plan = row['QUERY PLAN'][0].Plan;
      read = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
      return source.query(text, values);
    },
  };
  const table = `contacts_v${contactsProjection.version}.contacts`;
  const sortColumns = { email: { column: 'email_compared', type: 'text' as const } };
  for (const sort of ['-createdAt', 'email']) {
    const blocks: number[] = [];
    let after: Listing['after'];
    for (const limit of [100, CONTACTS - 300, 100]) {
      const listing = { organizationId: client.organizationId, limit, sort, after };
      const page = await findRows<{ id: string }>(counting, listing, { table, bytes: '1', sortColumns });
      blocks.push(read);
      after = page.next;
    }
    const [first, , last] = blocks as [number, number, number];
    expect(first).toBeGreaterThan(0);
    expect(last).toBeLessThanOrEqual(2 * first);
  }
});
