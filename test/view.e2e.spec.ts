import { SharedApi, Client, ISO } from './harness.js';

let api: SharedApi;
let client: Client;
beforeAll(async () => {
  api = await SharedApi.open();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

const LIST = { name: 'Berlin', operation: 'contact.list-contacts' };

async function ask(operation: string, fields: object): Promise<any> {
  const { status, body } = await client.post(operation, fields);
  expect([operation, status, body.error]).toEqual([operation, 200, undefined]);
  return body.data;
}

it('create-view returns the id, the same for the same body; get-, update-, list- and delete-view work like those of other records', async () => {
  const given = { ...LIST, parameters: { city: 'Berlin', subscribed: 'true', sort: '-email' } };
  const { viewId } = await ask('view.create-view', given);
  expect(await ask('view.create-view', given)).toEqual({ viewId });
  expect((await client.get('view.get-view', { viewId })).body.data).toEqual({
    id: viewId,
    organizationId: client.organizationId,
    ...given,
    columns: [],
    ...{ createdAt: expect.stringMatching(ISO), updatedAt: expect.stringMatching(ISO), version: 1 },
  });

  const columns = ['email', 'customFields.shoeSize'];
  const changed = await ask('view.update-view', { viewId, parameters: {}, columns });
  expect(changed).toMatchObject({ name: 'Berlin', parameters: {}, columns, version: 2 });
  expect((await ask('view.update-view', { viewId, parameters: {}, columns })).version).toBe(2);

  await ask('view.create-view', { name: 'News', operation: 'post.list-posts' });
  const listed = await client.get('view.list-views', { operation: 'contact.list-contacts' });
  expect(listed.body.data).toEqual([changed]);
  expect((await client.get('view.list-views', { q: 'ber' })).body.data).toEqual([changed]);

  expect((await client.delete('view.delete-view', { viewId })).body.data).toEqual({ viewId });
  expect((await client.get('view.get-view', { viewId })).status).toBe(404);
  expect((await client.post('view.update-view', { viewId, name: 'Later' })).status).toBe(404);
});

it.each([
  ['q', 'Ada', 'cannot be saved in a view'],
  ['email', 'ada@example.org', 'cannot be saved in a view'],
  ['externalId', 'crm:1', 'cannot be saved in a view'],
  ['cursor', 'x', 'cannot be saved in a view'],
  ['organizationId', '01990a6e-1111-7000-8000-000000000001', 'cannot be saved in a view'],
  ['subscribed', 'perhaps', expect.any(String)],
  ['subscribed', true, 'must be a string'],
  ['sort', 'name', expect.any(String)],
  ['town', 'Berlin', expect.any(String)],
])(
  'create-view and update-view return 400 for the parameter %s: %s, and store nothing',
  async (name, value, message) => {
    const { viewId } = await ask('view.create-view', LIST);
    const before = await api.lastPosition();
    const wrong = { parameters: { [name]: value } };
    for (const [operation, fields] of [
      ['view.create-view', { ...LIST, name: 'Other', ...wrong }],
      ['view.update-view', { viewId, ...wrong }],
    ] as const) {
      const { status, body } = await client.post(operation, fields);
      expect([operation, status]).toEqual([operation, 400]);
      expect(body.error.issues).toEqual([{ path: `parameters.${name}`, message }]);
    }
    expect(await api.eventsAfter(client.organizationId, before)).toEqual([]);
  },
);

it.each(['contact.get-contact', 'contact.create-contact', 'contact.list-people', 'x'])(
  'create-view returns 400 for %s, which is not a list',
  async (operation) => {
    const { status, body } = await client.post('view.create-view', { name: 'A', operation });
    expect([status, body.error.issues[0].path]).toEqual([400, 'operation']);
  },
);
