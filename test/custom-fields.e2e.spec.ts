import { v7 as uuidv7 } from 'uuid';
import { EventStore, Keyring } from '#libs/event-store';
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

const data = async (answer: Promise<{ status: number; body: any }>) => {
  const { status, body } = await answer;
  expect({ status, error: body.error }).toEqual({ status: 200 });
  return body.data;
};
const create = async (name: string, more = {}): Promise<string> =>
  (await data(client.post('field.create-field', { name, ...more }))).fieldId;
const get = (fieldId: string) => data(client.get('field.get-field', { fieldId }));
const keyOf = async (name: string) => (await get(await create(name))).key;

it('create-field returns 200 with the id, the same for the same body, and get-field returns every field', async () => {
  const { status, body } = await client.post('field.create-field', {
    name: ' Shoe size ',
    type: 'CHOICE',
    options: ['S', ' M ', 'S'],
  });
  expect([status, body]).toEqual([200, { data: { fieldId: expect.any(String) }, object: 'field' }]);
  const { fieldId } = body.data;
  expect((await client.get('field.get-field', { fieldId })).body).toEqual({
    data: {
      id: fieldId,
      createdAt: expect.stringMatching(ISO),
      updatedAt: expect.stringMatching(ISO),
      key: 'shoeSize',
      name: 'Shoe size',
      type: 'CHOICE',
      options: ['S', 'M'],
      organizationId: client.organizationId,
    },
    object: 'field',
  });
  expect(await create('Shoe size', { type: 'CHOICE', options: ['S', 'M'] })).toBe(fieldId);
  expect(await get(await create('Notes for us'))).toMatchObject({ type: 'TEXT', options: null });
});

it('create-field returns keys that are unique, unlike any field of contacts, and free after a deletion', async () => {
  const first = await create('Shoe size');
  expect(await keyOf('Shoe-Size')).toBe('shoeSize2');
  expect(await keyOf('City')).toBe('city2');
  expect(await keyOf('サイズ')).toBe('field');
  await data(client.delete('field.delete-field', { fieldId: first }));
  expect((await client.get('field.get-field', { fieldId: first })).status).toBe(404);
  expect(await keyOf('SHOE SIZE')).toBe('shoeSize');
});

it.each([
  ['no name', { name: undefined }, 'name'],
  ['a name of 201 characters', { name: 'x'.repeat(201) }, 'name'],
  ['an unknown type', { type: 'COLOUR' }, 'type'],
  ['a choice without options', { type: 'CHOICE' }, 'options'],
  ['a choice with an empty list of options', { type: 'CHOICES', options: [] }, 'options'],
  ['options of a text', { type: 'TEXT', options: ['S'] }, 'options'],
  ['an empty option', { type: 'CHOICE', options: ['S', ' '] }, 'options'],
  ['201 options', { type: 'CHOICE', options: Array.from({ length: 201 }, (_, n) => `${n}`) }, 'options'],
])('create-field returns 400 for %s', async (_, fields, path) => {
  const { status, body } = await client.post('field.create-field', { name: 'A', ...fields });
  expect([status, body.error.issues[0].path]).toEqual([400, path]);
});

it('create-field returns 409 above 100 fields, also for concurrent requests, and 200 after a deletion', async () => {
  const answers = await Promise.all(
    Array.from({ length: 103 }, (_, n) => client.post('field.create-field', { name: `Field ${n}` })),
  );
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused.map(({ status, body }) => [status, body.error.reason])).toEqual(
    Array.from({ length: 3 }, () => [409, 'FIELD_LIMIT_REACHED']),
  );
  const fields = await data(client.get('field.list-fields', { limit: '100' }));
  expect(new Set(fields.map(({ key }: { key: string }) => key)).size).toBe(100);
  const [{ id, name }] = fields;
  expect(await create(name)).toBe(id);
  await data(client.delete('field.delete-field', { fieldId: id }));
  await create('One more');
});

it('update-field changes name and options, and returns 400 or 404 for anything else', async () => {
  const fieldId = await create('Shoe size', { type: 'CHOICE', options: ['S'] });
  const update = (more: object, id = fieldId) => client.post('field.update-field', { fieldId: id, ...more });
  expect(await data(update({ name: 'Size', options: ['M'] }))).toMatchObject({
    key: 'shoeSize',
    name: 'Size',
    options: ['M'],
  });
  const text = await create('Text');
  const answers = [
    await update({ options: [] }),
    await update({ options: ['S'] }, text),
    await update({ key: 'other' }),
    await update({ type: 'TEXT' }),
    await update({ name: 'Size' }, NOBODY),
  ];
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 404]);
});

it('list-fields finds fields by type and by a part of their name or key', async () => {
  await create('Shoe size', { type: 'NUMBER' });
  await create('Birthday', { type: 'DATE' });
  const names = async (query: Record<string, string>) =>
    (await data(client.get('field.list-fields', { sort: 'name', ...query }))).map(
      ({ name }: { name: string }) => name,
    );
  expect(await names({})).toEqual(['Birthday', 'Shoe size']);
  expect(await names({ type: 'DATE' })).toEqual(['Birthday']);
  expect(await names({ q: 'shoesi' })).toEqual(['Shoe size']);
});

describe('a contact written by the next release', () => {
  /** Appends events in the shape that this release reads and does not write yet. */
  async function write(contactId: string, version: number, type: string, personal: object): Promise<void> {
    const keyring = new Keyring(Buffer.alloc(32, 7));
    const newest = { reads: [(body: any) => body], writes: 'newest' } as const;
    const next = new EventStore(api.database.source, keyring, {
      ContactCreated: newest,
      ContactUpdated: newest,
    });
    const appended = await next.append({
      organizationId: client.organizationId,
      metadata: { actor: { type: 'system', id: 'test' }, requestId: 'test' },
      writes: [
        {
          streamType: 'contact',
          streamId: contactId,
          expectedVersion: version,
          subjectId: contactId,
          events: [{ type, data: type === 'ContactCreated' ? { subscribed: true } : {}, personal } as any],
        },
      ],
    });
    expect(appended.status).toBe('appended');
    // Changes nothing, but waits for the projections.
    await data(client.post('contact.update-contact', { contactId }));
  }

  it('is shown with its region, external ids and values wherever contacts are, now and then', async () => {
    const [size, sizes, gone] = [await create('Size'), await create('Sizes'), await create('Gone')];
    const contactId = uuidv7();
    await write(contactId, 0, 'ContactCreated', {
      email: 'ada@example.org',
      region: 'Essex',
      externalIds: ['a:2', 'a:1'],
      customFields: { [gone]: 'x', [sizes]: ['S', 'M, L'], [size]: 1.5 },
    });
    const { organizationId } = client;
    const shown = (more = {}) =>
      data(client.get('contact.get-contact', { contactId, organizationId, ...more }));
    const first = {
      region: 'Essex',
      externalIds: ['a:2', 'a:1'],
      customFields: { size: 1.5, sizes: ['S', 'M, L'], gone: 'x' },
    };
    expect(await shown()).toMatchObject(first);
    const before = (await shown()).updatedAt;

    await data(client.delete('field.delete-field', { fieldId: gone }));
    await write(contactId, 1, 'ContactUpdated', { customFields: { [size]: null } });
    const second = { ...first, customFields: { sizes: ['S', 'M, L'] } };
    const record = await shown();
    expect(record).toMatchObject(second);
    expect(Object.keys(record.customFields)).toEqual(['sizes']);
    expect((await shown({ asOf: before })).customFields).toEqual(first.customFields);
    expect(await data(client.get('contact.list-contacts'))).toEqual([record]);
    expect(await data(client.get('contact.list-contacts', { externalId: 'a:1', region: 'Essex' }))).toEqual([
      record,
    ]);
    expect(await data(client.get('contact.list-contacts', { externalId: 'a:3' }))).toEqual([]);
    expect(await data(client.post('contact.update-contact', { contactId, city: 'London' }))).toMatchObject({
      ...second,
      city: 'London',
    });
    const ndjson = await client.get('contact.export-contacts');
    expect(JSON.parse(ndjson.body)).toEqual(await shown());
    const csv = (await client.get('contact.export-contacts', { format: 'csv' })).body as string;
    const [header, row] = csv.split('\r\n');
    expect(header).toMatch(/,city,region,country,externalIds,organizationId,subscribed,size,sizes$/);
    expect(row).toMatch(/,London,Essex,,"a:2, a:1",[^,]+,true,,"S, ""M, L"""$/);

    await write(contactId, 3, 'ContactUpdated', { externalIds: [], customFields: { [sizes]: null } });
    expect(await shown()).toMatchObject({ externalIds: [], customFields: {} });
    const stored = await api.database.source.query(
      'SELECT external_ids, custom_fields FROM contacts_v3.contacts WHERE organization_id = $1',
      [organizationId],
    );
    // Values of deleted fields stay until the contact is erased: no record shows them.
    expect(stored).toEqual([{ external_ids: null, custom_fields: { [gone]: 'x' } }]);
  });

  it('keeps update-field from removing an option that is its value, or one of its values', async () => {
    const options = ['S', 'M', 'L'];
    const [size, sizes] = [
      await create('Size', { type: 'CHOICE', options }),
      await create('Sizes', { type: 'CHOICES', options }),
    ];
    for (let n = 0; n < 2; n += 1)
      await write(uuidv7(), 0, 'ContactCreated', {
        email: `ada-${n}@example.org`,
        customFields: { [size]: 'S', [sizes]: ['S', 'M'] },
      });
    const keep = async (fieldId: string, ...kept: string[]) => {
      const { status, body } = await client.post('field.update-field', { fieldId, options: kept });
      return [status, body.error?.reason, /2 contacts/.test(body.error?.message ?? '')];
    };
    expect(await keep(size, 'M', 'L')).toEqual([409, 'OPTION_IN_USE', true]);
    expect(await keep(sizes, 'S', 'L')).toEqual([409, 'OPTION_IN_USE', true]);
    expect(await keep(size, 'S', 'XL')).toEqual([200, undefined, false]);
    expect(await keep(sizes, 'M', 'S')).toEqual([200, undefined, false]);
  });
});
