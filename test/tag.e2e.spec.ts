import { SharedApi, type Client, ISO, NOBODY } from './harness.js';

let api: SharedApi;
let client: Client;
beforeAll(async () => {
  api = await SharedApi.open();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

async function create(fields: object = {}): Promise<string> {
  const { status, body } = await client.post('tag.create-tag', { name: 'Donor', ...fields });
  expect(status).toBe(200);
  return body.data.tagId;
}
async function person(email: string): Promise<string> {
  const { organizationId } = client;
  return (await client.post('contact.create-contact', { organizationId, email })).body.data.contactId;
}
const get = (tagId: string, more = {}) => client.get('tag.get-tag', { tagId, ...more });
const add = (tagId: string, contactIds: unknown) => client.post('tag.add-contacts', { tagId, contactIds });
const remove = (tagId: string, contactIds: unknown) =>
  client.delete('tag.remove-contacts', { tagId, contactIds });
async function count(tagId: string): Promise<number> {
  return (await get(tagId)).body.data.contacts;
}

it('create-tag returns 200 with the id, the same for the same body, and get-tag returns every field', async () => {
  const { status, body } = await client.post('tag.create-tag', { name: ' Donor ' });
  expect([status, body]).toEqual([200, { data: { tagId: expect.any(String) }, object: 'tag' }]);
  const { tagId } = body.data;
  expect((await get(tagId)).body).toEqual({
    data: {
      id: tagId,
      createdAt: expect.stringMatching(ISO),
      updatedAt: expect.stringMatching(ISO),
      version: 1,
      name: 'Donor',
      description: null,
      organizationId: client.organizationId,
      contacts: 0,
    },
    object: 'tag',
  });
  expect(await create()).toBe(tagId);
});

it.each([
  ['no name', { name: undefined }, 'name'],
  ['an empty name', { name: ' ' }, 'name'],
  ['a name of 101 characters', { name: 'x'.repeat(101) }, 'name'],
  ['a description of 501 characters', { description: 'x'.repeat(501) }, 'description'],
])('create-tag and update-tag return 400 for %s', async (_, fields, path) => {
  const created = await client.post('tag.create-tag', { name: 'A', ...fields });
  expect([created.status, created.body.error.issues[0].path]).toEqual([400, path]);
  const { name = 'x'.repeat(101) } = fields as { name?: string };
  const updated = await client.post('tag.update-tag', { tagId: NOBODY, ...fields, name });
  expect(updated.status).toBe(400);
});

it('update-tag returns 200 with the whole tag, and asOf the previous one', async () => {
  const tagId = await create({ description: 'Gives' });
  const contactId = await person('ada@example.org');
  const { updatedAt } = (await get(tagId)).body.data;
  await api.moment();
  expect((await add(tagId, [contactId])).body.data.contacts).toBe(1);
  const { status, body } = await client.post('tag.update-tag', { tagId, name: 'Patron', description: null });
  expect(status).toBe(200);
  expect(body.data).toMatchObject({ name: 'Patron', description: null, contacts: 1 });
  expect((await get(tagId)).body).toEqual(body);
  const past = (await get(tagId, { asOf: updatedAt })).body.data;
  expect(past).toMatchObject({ name: 'Donor', description: 'Gives', contacts: 0 });
});

it('list-tags searches, sorts by name and paginates, and two tags may share a name', async () => {
  await create();
  await create({ description: 'Another' });
  await create({ name: 'Baker' });
  const page = async (query: Record<string, string>) => (await client.get('tag.list-tags', query)).body;
  const names = ({ data }: { data: { name: string }[] }) => data.map(({ name }) => name);
  const first = await page({ sort: 'name', limit: '2' });
  expect([first.object, names(first)]).toEqual(['tags', ['Baker', 'Donor']]);
  expect(names(await page({ sort: 'name', limit: '2', cursor: first.pagination.cursor }))).toEqual(['Donor']);
  expect(names(await page({ q: 'BAK' }))).toEqual(['Baker']);
});

it('add-contacts and remove-contacts are counted immediately everywhere, apply once, to all or none, and filter contacts', async () => {
  const tagId = await create();
  const [ada, grace] = [await person('ada@example.org'), await person('grace@example.org')];
  expect((await add(tagId, [ada, grace, ada])).body).toMatchObject({ data: { contacts: 2 }, object: 'tag' });
  expect((await add(tagId, [ada])).body.data.contacts).toBe(2);
  const there = client.at(api.instances[1]!.origin);
  expect((await there.get('tag.get-tag', { tagId })).body.data.contacts).toBe(2);
  for (const change of [add, remove]) {
    const { status, body } = await change(tagId, [grace, NOBODY]);
    expect([status, body.error.message.includes(NOBODY)]).toEqual([404, true]);
    const many = Array.from({ length: 1_001 }, () => ada);
    expect((await change(tagId, many)).body.error.issues[0].path).toBe('contactIds');
  }
  expect((await remove(tagId, [grace])).body.data.contacts).toBe(1);
  expect((await remove(tagId, [grace])).body.data.contacts).toBe(1);

  const { body } = await client.get('contact.list-contacts', { tagId });
  expect(body.data.map(({ id }: { id: string }) => id)).toEqual([ada]);
  for (const format of ['ndjson', 'csv']) {
    const exported = (await client.get('contact.export-contacts', { tagId, format })).body;
    expect([exported.includes(ada), exported.includes(grace)]).toEqual([true, false]);
  }
  const types = await api.eventTypes(client.organizationId);
  expect(types.filter((type) => type.includes('tagged') || type.includes('Tagged'))).toEqual([
    'ContactTagged',
    'ContactTagged',
    'ContactUntagged',
  ]);
});

it('an erased contact loses the tag', async () => {
  const tagId = await create();
  const [goes, stays] = [await person('ada@example.org'), await person('grace@example.org')];
  await add(tagId, [goes, stays]);
  await client.delete('contact.delete-contact', { contactId: goes });
  expect(await count(tagId)).toBe(1);
  expect((await remove(tagId, [goes])).body.data.contacts).toBe(1);
});

it('delete-tag returns 200 with the id, even for repeats, and keeps the contacts', async () => {
  const tagId = await create();
  const contactId = await person('ada@example.org');
  await add(tagId, [contactId]);
  for (let n = 0; n < 2; n += 1) {
    const { status, body } = await client.delete('tag.delete-tag', { tagId });
    expect([status, body]).toEqual([200, { data: { tagId }, object: 'tag' }]);
  }
  const answers = [
    await get(tagId),
    await add(tagId, [contactId]),
    await remove(tagId, [contactId]),
    await client.post('tag.update-tag', { tagId, name: 'B' }),
    await client.get('contact.list-contacts', { tagId }),
    await client.get('contact.export-contacts', { tagId }),
  ];
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
  expect((await client.get('contact.list-contacts')).body.data).toHaveLength(1);
});
