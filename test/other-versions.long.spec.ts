import { v7 as uuidv7 } from 'uuid';
import { Api, Client } from './harness.js';
import { eventually, type ServerProcess } from './processes.js';
import { before, ReleaseBuild } from './releases.js';

let api: Api;
let older: ServerProcess | undefined;
let reason = '';
let here: Client;
let there: Client;
beforeAll(async () => {
  const build = await ReleaseBuild.of(before);
  if (typeof build === 'string') {
    reason = build;
    return;
  }
  api = await Api.start();
  older = await build.start({
    DATABASE_URL: api.database.url,
    ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    REDIS_URL: '',
    PORT: '0',
  });
  here = await api.organization();
  there = new Client(older.origin, here.organizationId, here.key, true, false);
});
afterAll(async () => {
  await older?.end('SIGTERM');
  await (api as Api | undefined)?.stop();
});

const createContact = async (client: Client) => {
  const { organizationId } = client;
  const { body } = await client.post('contact.create-contact', {
    organizationId,
    email: `${uuidv7()}@example.org`,
  });
  expect(body).toHaveProperty('data.contactId');
  return body.data.contactId as string;
};

it(`responses of a ${before.version} instance are immediately visible here`, async () => {
  if (!older) return console.log(`Skipped: ${reason}`);
  const { organizationId } = here;
  const { projections } = api.instances[0]!.runtime;
  await eventually(() => expect(projections.hasMixedVersions).toBe(true));
  const { listId } = (await here.post('list.create-list', { name: 'Friends' })).body.data;
  for (let n = 1; n <= 15; n += 1) {
    const contactId = await createContact(there);
    const added = await here.post('list.add-contacts', { listId, contactIds: [contactId] });
    expect({ n, status: added.status, contacts: added.body.data?.contacts }).toEqual({
      n,
      status: 200,
      contacts: n,
    });
    await there.post('contact.update-contact', { contactId, city: 'Nairobi' });
    const { body } = await here.get('contact.list-contacts', {
      organizationId,
      city: 'Nairobi',
      limit: '100',
    });
    expect(body.data).toHaveLength(n);
    expect((await here.get('contact.get-contact', { organizationId, contactId })).body.data.city).toBe(
      'Nairobi',
    );
  }
});
