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
let people = 0;
const email = () => `person-${(people += 1)}@example.org`;
const person = async (fields: object = {}): Promise<string> => {
  const { organizationId } = client;
  return (await data(client.post('contact.create-contact', { organizationId, email: email(), ...fields })))
    .contactId;
};
const contact = (contactId: string, more = {}) =>
  data(client.get('contact.get-contact', { contactId, organizationId: client.organizationId, ...more }));
const update = (contactId: string, fields: object) =>
  client.post('contact.update-contact', { contactId, ...fields });
const refusal = ({ status, body }: { status: number; body: any }) => [
  status,
  body.error?.reason ?? body.error?.code,
];
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
      version: 1,
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

it('create-field returns 409 above 100 fields, even for concurrent requests, and 200 after a deletion', async () => {
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

describe('region, external ids and values of a contact', () => {
  const extras = {
    region: 'Essex',
    externalIds: ['a:2', 'a:1'],
    customFields: { size: 1.5, sizes: ['S', 'M, L'], gone: 'x', when: '2024-02-29', agrees: false },
  };
  let ids: Record<string, string>;
  beforeEach(async () => {
    ids = {
      size: await create('Size', { type: 'NUMBER' }),
      sizes: await create('Sizes', { type: 'CHOICES', options: ['S', 'M, L'] }),
      gone: await create('Gone'),
      when: await create('When', { type: 'DATE' }),
      agrees: await create('Agrees', { type: 'BOOLEAN' }),
    };
  });

  it('are shown wherever contacts are, now and then', async () => {
    const contactId = await person(extras);
    expect(await contact(contactId)).toMatchObject(extras);
    const before = (await contact(contactId)).updatedAt;

    await data(client.delete('field.delete-field', { fieldId: ids.gone }));
    const changed = await data(update(contactId, { customFields: { size: null, when: '' }, city: 'London' }));
    const customFields = { sizes: ['S', 'M, L'], agrees: false };
    expect(changed).toMatchObject({ ...extras, customFields, city: 'London' });
    expect(Object.keys(changed.customFields)).toEqual(['sizes', 'agrees']);
    const record = await contact(contactId);
    expect(record).toEqual(changed);
    expect((await contact(contactId, { asOf: before })).customFields).toEqual(extras.customFields);
    for (const query of [{}, { externalId: 'a:1', region: 'Essex' }] as Record<string, string>[])
      expect(await data(client.get('contact.list-contacts', query))).toEqual([record]);
    expect(await data(client.get('contact.list-contacts', { externalId: 'a:3' }))).toEqual([]);
    const ndjson = await client.get('contact.export-contacts');
    expect(JSON.parse(ndjson.body)).toEqual(record);
    const csv = (await client.get('contact.export-contacts', { format: 'csv' })).body as string;
    const [header, row] = csv.split('\r\n');
    expect(header).toMatch(
      /,city,region,country,externalIds,organizationId,subscribed,size,sizes,when,agrees$/,
    );
    expect(row).toMatch(/,London,Essex,,"a:2, a:1",[^,]+,true,,"S, ""M, L""",,false$/);

    await data(
      update(contactId, { region: null, externalIds: [], customFields: { sizes: [], agrees: null } }),
    );
    expect(await contact(contactId)).toMatchObject({ region: null, externalIds: [], customFields: {} });
    const stored = await api.database.source.query(
      'SELECT external_ids, custom_fields FROM contacts_v5.contacts WHERE organization_id = $1',
      [client.organizationId],
    );
    // Values of deleted fields stay until the contact is erased: no record shows them.
    expect(stored).toEqual([{ external_ids: null, custom_fields: { [ids.gone!]: 'x' } }]);
  });

  it('are encrypted in the history, and null there after the contact is erased', async () => {
    const contactId = await person({ externalIds: ['a:1'], customFields: { gone: 'secret' } });
    const events = () => data(client.get('history.list-events', { recordId: contactId }));
    expect((await events())[0].data.personal).toMatchObject({
      externalIds: ['a:1'],
      customFields: { [ids.gone!]: 'secret' },
    });
    const [{ data: plain }] = await api.database.source.query(
      'SELECT data FROM events WHERE organization_id = $1 AND stream_id = $2',
      [client.organizationId, contactId],
    );
    expect(plain).toEqual({ subscribed: true });
    await data(client.delete('contact.delete-contact', { contactId }));
    expect(JSON.stringify(await events())).not.toMatch(/secret|a:1/);
    // The id is free again.
    await person({ externalIds: ['a:1'] });
  });

  it.each([
    ['an unknown key', { size2: 1 }, 'customFields.size2', /these: size, sizes, gone, when, agrees$/],
    ['another type', { size: '1' }, 'customFields.size', /must be a number/],
    ['no date', { when: '2023-02-29' }, 'customFields.when', /must be a date/],
    ['no option', { sizes: ['S', 'XL'] }, 'customFields.sizes', /must be a list of: S, M, L/],
    ['a text that is too long', { gone: 'x'.repeat(1_001) }, 'customFields.gone', /at most 1000/],
    ['an object', { gone: {} }, 'customFields.gone', /must be a string/],
    ['a list instead of an object', [1], 'customFields', /must be an object/],
    [
      'a key of every object',
      JSON.parse('{"__proto__": 1}'),
      'customFields.__proto__',
      /is not a custom field/,
    ],
  ])(
    'create-, update-contact and add-signature return 400 for %s',
    async (_, customFields, path, message) => {
      const { organizationId } = client;
      const contactId = await person();
      const { petitionId } = await data(client.post('petition.create-petition', { name: 'River' }));
      await data(client.post('petition.publish-petition', { petitionId }));
      const answers = [
        ['', await client.post('contact.create-contact', { organizationId, email: email(), customFields })],
        ['', await update(contactId, { customFields })],
        [
          'contact.',
          await client.post('petition.add-signature', {
            petitionId,
            contact: { email: email(), customFields },
          }),
        ],
      ] as const;
      for (const [at, { status, body }] of answers) {
        expect([status, body.error.issues[0].path]).toEqual([400, at + path]);
        expect(body.error.issues[0].message).toMatch(message);
      }
    },
  );

  it('update-contact returns 400 if the values would have more than 16 KiB in total', async () => {
    const names = Array.from({ length: 20 }, (_, n) => `Long ${n}`);
    for (const name of names) await create(name);
    const keys = names.map((name) => name.replace('Long ', 'long'));
    const contactId = await person();
    const set = (some: string[]) =>
      update(contactId, { customFields: Object.fromEntries(some.map((key) => [key, 'x'.repeat(1_000)])) });
    await data(set(keys.slice(0, 10)));
    const { status, body } = await set(keys.slice(10));
    expect([status, body.error.issues]).toEqual([
      400,
      [{ path: 'customFields', message: 'would have more than 16 KiB in total' }],
    ]);
  });

  it.each([['x'], [':1'], ['a:'], ['a:1 2'], ['a:1,2'], ['a b:1'], [`a:${'1'.repeat(199)}`]])(
    'create-contact returns 400 for the external id %j',
    async (externalId) => {
      const { organizationId } = client;
      const body = { organizationId, email: email(), externalIds: [externalId] };
      expect((await client.post('contact.create-contact', body)).status).toBe(400);
    },
  );

  it('update-field returns 409 for an option that is a value, or one of the values, and counts the contacts', async () => {
    const size = await create('One size', { type: 'CHOICE', options: ['S', 'M', 'L'] });
    for (let n = 0; n < 2; n += 1) await person({ customFields: { oneSize: 'S', sizes: ['S', 'M, L'] } });
    const keep = async (fieldId: string, ...kept: string[]) => {
      const { status, body } = await client.post('field.update-field', { fieldId, options: kept });
      return [status, body.error?.reason, /2 contacts/.test(body.error?.message ?? '')];
    };
    expect(await keep(size, 'M', 'L')).toEqual([409, 'OPTION_IN_USE', true]);
    expect(await keep(ids.sizes!, 'S', 'L')).toEqual([409, 'OPTION_IN_USE', true]);
    expect(await keep(size, 'S', 'XL')).toEqual([200, undefined, false]);
    expect(await keep(ids.sizes!, 'M, L', 'S')).toEqual([200, undefined, false]);
  });

  it('an external id belongs to one contact, even for concurrent requests, until it is removed', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        client.post('contact.create-contact', {
          organizationId: client.organizationId,
          email: email(),
          externalIds: ['a:1'],
        }),
      ),
    );
    const [owner] = answers.filter(({ status }) => status === 200).map(({ body }) => body.data.contactId);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.map(refusal)).toEqual(Array.from({ length: 7 }, () => [409, 'EXTERNAL_ID_TAKEN']));
    expect(refused[0]!.body.error.message).toContain(owner);

    const other = await person({ externalIds: ['b:1'] });
    expect(refusal(await update(other, { externalIds: ['b:1', 'a:1'] }))).toEqual([409, 'EXTERNAL_ID_TAKEN']);
    await data(update(owner, { externalIds: ['c:1'] }));
    await data(update(other, { externalIds: ['b:1', 'a:1'] }));
    expect(await contact(other)).toMatchObject({ externalIds: ['b:1', 'a:1'] });
  });

  it('create-contact with onConflict: update finds the contact by external id first, then by address', async () => {
    const { organizationId } = client;
    const [first, second] = [email(), email()];
    const ada = await person({ email: first, externalIds: ['a:1'] });
    const grace = await person({ email: second });
    const merge = (fields: object) =>
      client.post('contact.create-contact', { organizationId, onConflict: 'update', ...fields });
    const moved = email();
    const merged = await data(
      merge({ email: moved, externalIds: ['b:1', 'a:1'], customFields: { size: 1 } }),
    );
    expect(merged).toEqual({ contactId: ada, created: false });
    expect(await contact(ada)).toMatchObject({
      email: moved,
      externalIds: ['a:1', 'b:1'],
      customFields: { size: 1 },
    });
    expect(await data(merge({ email: second, externalIds: ['c:1'] }))).toEqual({
      contactId: grace,
      created: false,
    });
    expect(refusal(await merge({ email: second, externalIds: ['a:1'] }))).toEqual([409, 'EMAIL_TAKEN']);
    expect(refusal(await merge({ email: email(), externalIds: ['a:1', 'c:1'] }))).toEqual([
      409,
      'EXTERNAL_ID_TAKEN',
    ]);
    // The former address is free.
    await person({ email: first });
  });

  it('add-signature finds the signer by external id', async () => {
    const { petitionId } = await data(client.post('petition.create-petition', { name: 'River' }));
    await data(client.post('petition.publish-petition', { petitionId }));
    const ada = await person({ externalIds: ['a:1'] });
    const sign = (fields: object) =>
      data(client.post('petition.add-signature', { petitionId, contact: { email: email(), ...fields } }));
    expect((await sign({ externalIds: ['a:1'] })).contactId).toBe(ada);
    const { contactId } = await sign({ externalIds: ['a:2'], region: 'Essex', customFields: { size: 2 } });
    expect(await contact(contactId)).toMatchObject({
      externalIds: ['a:2'],
      region: 'Essex',
      customFields: { size: 2 },
    });
  });

  it('get-contact accepts exactly one of contactId, externalId and email', async () => {
    const { organizationId } = client;
    const address = email();
    const contactId = await person({ email: address, externalIds: ['a:1'] });
    const find = (query: Record<string, string>) =>
      client.get('contact.get-contact', { organizationId, ...query });
    const names: Record<string, string>[] = [
      { contactId },
      { externalId: 'a:1' },
      { email: address.toUpperCase() },
    ];
    for (const query of names) expect((await data(find(query))).id).toBe(contactId);
    expect((await data(find({ externalId: 'a:1', asOf: new Date().toISOString() }))).id).toBe(contactId);
    expect(refusal(await find({}))).toEqual([400, 'BAD_REQUEST']);
    expect(refusal(await find({ contactId, externalId: 'a:1' }))).toEqual([400, 'BAD_REQUEST']);
    for (const query of [{ externalId: 'a:9' }, { email: email() }] as Record<string, string>[])
      expect(refusal(await find(query))).toEqual([404, 'NOT_FOUND']);
    const other = await api.organization();
    const foreign = await other.get('contact.get-contact', {
      organizationId: other.organizationId,
      externalId: 'a:1',
    });
    expect(foreign.status).toBe(404);
  });
});

describe('an import', () => {
  const load = async (body: string, query = '', type = 'text/csv') =>
    client.request('POST', `/v1/contact.import-contacts?subscribed=true${query}`, body, {
      'Content-Type': type,
    });
  const all = () => data(client.get('contact.list-contacts', { sort: 'email' }));
  beforeEach(async () => {
    await create('Shoe size', { type: 'NUMBER' });
    await create('Größen', { type: 'CHOICES', options: ['S', 'M, L'] });
    await create('Born', { type: 'DATE' });
    await create('Member', { type: 'BOOLEAN' });
  });

  it('reads custom fields by key or name, regions and external ids from a table', async () => {
    const { status, body } = await load(
      'email,shoeSize,grossen,Born,MEMBER,Bundesland,External ID\n' +
        'a@example.org,"42,5","s, ""M, L""",31.05.1985,ja,Hessen,civicrm:1\n' +
        'b@example.org,,,,,,\n' +
        'c@example.org,many,,,,,\n' +
        'd@example.org,,XL,,,,\n' +
        'e@example.org,,,,,,civicrm 2\n',
    );
    expect([status, body.data.created, body.data.failed]).toEqual([
      200,
      2,
      [
        { line: 4, message: 'customFields.shoeSize must be a number' },
        { line: 5, message: 'customFields.grossen must be a list of: S, M, L' },
        { line: 6, message: expect.stringMatching(/^externalIds must contain only IDs like civicrm:123/) },
      ],
    ]);
    expect(await all()).toMatchObject([
      {
        email: 'a@example.org',
        region: 'Hessen',
        externalIds: ['civicrm:1'],
        customFields: { shoeSize: 42.5, grossen: ['S', 'M, L'], born: '1985-05-31', member: true },
      },
      { email: 'b@example.org', region: null, externalIds: [], customFields: {} },
    ]);
  });

  it('updates by external id first, then by address, and changes nothing when it is repeated', async () => {
    const first = 'a@example.org,civicrm:1,40\n' + 'b@example.org,,\n';
    await load(`email,externalIds,shoeSize\n${first}`);
    const [a, b] = await all();
    const second = 'new@example.org,civicrm:1,41\n' + 'b@example.org,civicrm:2,\n';
    const table = `email,externalIds,shoeSize\n${second}`;
    expect((await load(table)).body.data).toMatchObject({ created: 0, failedCount: 2 });
    expect((await load(table, '&onConflict=update')).body.data).toMatchObject({ updated: 2, failedCount: 0 });
    expect((await load(table, '&onConflict=update')).body.data).toMatchObject({ unchanged: 2 });
    expect(await all()).toMatchObject([
      { id: b.id, email: 'b@example.org', externalIds: ['civicrm:2'], customFields: {} },
      { id: a.id, email: 'new@example.org', externalIds: ['civicrm:1'], customFields: { shoeSize: 41 } },
    ]);
  });

  it('imports exports of both formats without changes', async () => {
    const values = { shoeSize: 1e21, grossen: ['M, L'], born: '2000-01-01', member: false };
    const given = { region: 'Essex', externalIds: ['a:1', 'b:2'], customFields: values };
    await person({ email: 'full@example.org', ...given });
    await person({ email: 'none@example.org' });
    for (const [format, type] of [
      ['csv', 'text/csv'],
      ['ndjson', 'application/x-ndjson'],
    ]) {
      const exported = (await client.get('contact.export-contacts', { format: format! })).body as string;
      expect((await load(exported, '', type)).body.data).toMatchObject({ unchanged: 2, failedCount: 0 });
      for (const { id: contactId } of await all())
        await data(client.delete('contact.delete-contact', { contactId }));
      expect((await load(exported, '', type)).body.data).toMatchObject({ created: 2, failedCount: 0 });
      expect((await all())[0]).toMatchObject(given);
    }
  });

  it('reports unknown keys and wrong types of each line of NDJSON', async () => {
    const lines = [
      { email: 'a@example.org', customFields: { shoeSize: '42' } },
      { email: 'b@example.org', customFields: { other: 1 } },
      { email: 'c@example.org', customFields: { shoeSize: 42, born: null } },
    ];
    const text = lines.map((line) => JSON.stringify(line)).join('\n');
    const { created, failed } = (await load(text, '', 'application/x-ndjson')).body.data;
    expect([created, failed.map(({ line }: { line: number }) => line)]).toEqual([1, [1, 2]]);
    expect(failed[1].message).toContain('Your organization has these: shoeSize, grossen, born, member');
  });

  it('keeps a column that states consent from becoming a custom field', async () => {
    await create('Newsletter', { type: 'BOOLEAN' });
    await load('email,Newsletter\na@example.org,no\n');
    expect(await all()).toMatchObject([{ subscribed: false, customFields: {} }]);
  });
});
