import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type RecordedEvent, type Seal, sealValue } from '#libs/event-store';
import { type Projection } from '#libs/projections';
import { createTestDatabase } from '#libs/testing';
import { projections, upcasters } from '../src/app.module.js';
import { readExported } from '../src/history/index.js';
import { Api } from './harness.js';

/**
 * A history that the product wrote, and what the read models made of it. Both are checked in: a change that
 * reads old events otherwise shows here. UPDATE_GOLDEN=digests renews the digests (raise the projection's
 * version first); UPDATE_GOLDEN=history makes the history anew, which is for new types of events.
 */
const directory = join(__dirname, 'golden');
const HISTORY = join(directory, 'history.ndjson');
const DIGESTS = join(directory, 'digests.json');
const { UPDATE_GOLDEN } = process.env;

type Digests = { [projection: string]: { version: number; sha256: string } };

async function history(): Promise<RecordedEvent[]> {
  const lines = (await readFile(HISTORY, 'utf8')).trimEnd().split('\n');
  return lines.map((line) => readExported(line, upcasters)!);
}

/** An exported history has no keys of persons; any will do that is always the same. */
const seal: Seal = (event, name, value) => sealValue(Buffer.alloc(32, event.subjectId!), name, value);

async function digestOf(projection: Projection, events: readonly RecordedEvent[]): Promise<string> {
  const database = await createTestDatabase();
  try {
    return await database.source.transaction(async (transaction) => {
      await transaction.query(`CREATE SCHEMA golden; SET LOCAL search_path = golden, public`);
      await transaction.query(projection.tables);
      const handled = events.filter(({ type }) => projection.handles.includes(type));
      // In pages of seven: what a page has must not matter.
      for (let n = 0; n < handled.length; n += 7)
        await projection.apply(handled.slice(n, n + 7), transaction, seal);
      const hash = createHash('sha256');
      const tables: { name: string }[] = await transaction.query(
        `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'golden' ORDER BY 1`,
      );
      for (const { name } of tables) {
        const rows: { row: string }[] = await transaction.query(
          `SELECT to_jsonb(t)::text AS row FROM golden.${name} t ORDER BY 1`,
        );
        hash.update(`${name}\n${rows.map(({ row }) => row).join('\n')}\n`);
      }
      return hash.digest('hex');
    });
  } finally {
    await database.drop();
  }
}

beforeAll(async () => {
  if (UPDATE_GOLDEN !== 'history') return;
  await mkdir(directory, { recursive: true });
  await writeFile(HISTORY, await makeHistory());
});

it('has every type of event that a read model handles', async () => {
  const types = new Set((await history()).map(({ type }) => type));
  expect(projections.flatMap(({ handles }) => handles).filter((type) => !types.has(type))).toEqual([]);
});

it.each(projections.map((projection) => [projection.name, projection] as const))(
  'read by %s as ever',
  async (name, projection) => {
    const found = { version: projection.version, sha256: await digestOf(projection, await history()) };
    const digests = (existsSync(DIGESTS) ? JSON.parse(await readFile(DIGESTS, 'utf8')) : {}) as Digests;
    if (UPDATE_GOLDEN) {
      const before = digests[name];
      if (UPDATE_GOLDEN === 'digests' && before?.version === found.version) expect(found).toEqual(before);
      await writeFile(DIGESTS, `${JSON.stringify({ ...digests, [name]: found }, null, 2)}\n`);
      return;
    }
    expect({ [name]: found }).toEqual({ [name]: digests[name] });
  },
);

/** Some of everything, by the product's own operations. */
async function makeHistory(): Promise<string> {
  const api = await Api.start();
  const client = await api.organization();
  const { organizationId } = client;
  const post = async (operation: string, body: object) => (await client.post(operation, body)).body.data;
  const erase = (operation: string, body: object) => client.delete(operation, body);
  const contactIds: string[] = [];
  for (const firstName of ['Ada', 'Chico', 'Rachel', 'Wangari']) {
    const email = `${firstName.toLowerCase()}@example.org`;
    const contact = { organizationId, email, firstName, city: 'Nairobi', bio: 'Ω \n “quoted”' };
    contactIds.push((await post('contact.create-contact', contact)).contactId);
  }
  const [ada, chico, rachel, wangari] = contactIds as [string, string, string, string];
  await post('contact.update-contact', { contactId: ada, city: null, phone: '+44 20', subscribed: false });
  await post('contact.update-contact', { contactId: ada, subscribed: true, email: 'ada@example.net' });
  const { listId } = await post('list.create-list', { name: 'Friends' });
  await post('list.update-list', { listId, description: 'Who helps' });
  await post('list.add-contacts', { listId, contactIds: [ada, chico, rachel] });
  await erase('list.remove-contacts', { listId, contactIds: [ada] });
  const content = { blocks: [{ text: 'Stop' }, 1.5, null, [true, { deep: -0.25 }]] };
  const { petitionId } = await post('petition.create-petition', { name: 'Save the river', content });
  await post('petition.update-petition', { petitionId, goal: 5, ask: 'Stop it' });
  await post('petition.publish-petition', { petitionId });
  for (const contactId of contactIds) {
    await post('petition.add-signature', {
      petitionId,
      contactId,
      comment: `I am ${contactIds.indexOf(contactId)}`,
    });
  }
  await post('petition.add-signature', { petitionId, contact: { email: 'grace@example.org' } });
  await erase('petition.remove-signature', { petitionId, contactId: chico });
  await post('petition.add-signature', { petitionId, contactId: chico });
  await post('petition.close-petition', { petitionId });
  await erase('contact.delete-contact', { contactId: rachel });
  await erase('petition.remove-signature', { petitionId, contactId: wangari });
  const other = await post('petition.create-petition', { name: 'Gone' });
  await erase('petition.delete-petition', other);
  const news = await post('post.create-post', { name: 'News', content });
  await post('post.update-post', { ...news, title: 'Good news' });
  await post('post.publish-post', news);
  await post('post.archive-post', news);
  await erase('post.delete-post', await post('post.create-post', { name: 'Old news' }));
  await erase('list.delete-list', await post('list.create-list', { name: 'Gone' }));
  const key = await post('api-key.create-api-key', {
    name: 'Website',
    scopes: ['petition:write'],
    rateLimit: 50,
  });
  const rotated = await post('api-key.rotate-api-key', { apiKeyId: key.apiKeyId, overlapSeconds: 60 });
  await erase('api-key.revoke-api-key', { apiKeyId: rotated.apiKeyId });
  await post('organization.update-organization', { website: 'https://example.org' });
  await client.get('event.list-events');
  const exported = await client.get('event.export-events');
  await api.stop();
  return exported.body;
}
