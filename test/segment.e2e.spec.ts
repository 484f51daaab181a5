import { SharedApi, Client, ISO, NOBODY } from './harness.js';

let api: SharedApi;
let client: Client;
beforeAll(async () => {
  api = await SharedApi.open();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

const BERLIN = { field: 'city', op: 'is', value: 'Berlin' };

async function ask(operation: string, fields: object): Promise<any> {
  const { status, body } = await client.post(operation, fields);
  expect([operation, status, body.error]).toEqual([operation, 200, undefined]);
  return body.data;
}
async function person(name: string, fields: object = {}): Promise<string> {
  const { organizationId } = client;
  const email = `${name}@example.org`;
  return (await ask('contact.create-contact', { organizationId, email, ...fields })).contactId;
}
async function create(filter: unknown, name = 'Friends'): Promise<string> {
  return (await ask('segment.create-segment', { name, filter })).segmentId;
}
/** The emails of the contacts that match, without domain. */
async function matching(filter: object): Promise<string[]> {
  const { status, body } = await client.get('segment.preview-segment', { filter: JSON.stringify(filter) });
  expect([status, body.error]).toEqual([200, undefined]);
  const { count, isExact, contacts } = body.data;
  expect([count, isExact]).toEqual([contacts.length, true]);
  return contacts.map(({ email }: { email: string }) => email.split('@')[0]).toSorted();
}

it('create-segment returns the id, the same for the same body; get-, update-, list- and delete-segment work like those of other records', async () => {
  const filter = { all: [BERLIN, { not: { field: 'phone', op: 'isSet' } }] };
  const segmentId = await create(filter);
  expect(await create(filter)).toBe(segmentId);
  const record = {
    id: segmentId,
    createdAt: expect.stringMatching(ISO),
    updatedAt: expect.stringMatching(ISO),
    version: 1,
    name: 'Friends',
    filter,
    organizationId: client.organizationId,
  };
  expect((await client.get('segment.get-segment', { segmentId })).body).toEqual({
    data: record,
    object: 'segment',
  });
  const changed = await ask('segment.update-segment', { segmentId, name: 'Others', filter: { not: filter } });
  expect(changed).toEqual({ ...record, version: 2, name: 'Others', filter: { not: filter } });
  expect((await client.get('segment.list-segments', { q: 'oth' })).body.data).toEqual([changed]);
  const { createdAt } = (await client.get('history.list-events', { recordId: segmentId })).body.data[0];
  expect(createdAt).toBeUndefined();
  expect((await client.delete('segment.delete-segment', { segmentId })).body.data).toEqual({ segmentId });
  expect((await client.get('segment.get-segment', { segmentId })).status).toBe(404);
  expect((await client.get('contact.list-contacts', { segmentId })).status).toBe(404);
});

const deep = (levels: number): object => (levels === 0 ? BERLIN : { not: deep(levels - 1) });
it.each<[what: string, filter: unknown, path: string, message?: RegExp]>([
  ['no object', 'Berlin', 'filter'],
  ['null', null, 'filter'],
  ['nothing', {}, 'filter', /all, any, not, field, /],
  ['an unknown condition', { all: [{ city: 'Berlin' }] }, 'filter.all.0'],
  ['no list of filters', { any: BERLIN }, 'filter.any'],
  ['an empty list', { all: [] }, 'filter.all'],
  ['a list with something else', { all: [BERLIN, 7] }, 'filter.all.1'],
  ['all and any at once', { all: [BERLIN], any: [BERLIN] }, 'filter'],
  ['six levels', deep(6), 'filter.not.not.not.not.not'],
  ['51 conditions', { any: Array.from({ length: 51 }, () => BERLIN) }, 'filter.any.50'],
  ['an unknown field', { field: 'age', op: 'is', value: 7 }, 'filter.field', /email, firstName, /],
  ['no operator', { not: { field: 'city', value: 'Berlin' } }, 'filter.not.op'],
  ['another operator', { all: [BERLIN, BERLIN, { ...BERLIN, op: 'atLeast' }] }, 'filter.all.2.op'],
  [
    'a search in an encrypted field',
    { field: 'phone', op: 'contains', value: '7' },
    'filter.op',
    /encrypted/,
  ],
  ['a further field', { ...BERLIN, values: [] }, 'filter.values'],
  ['no text', { ...BERLIN, value: 7 }, 'filter.value'],
  ['an empty text', { ...BERLIN, value: ' ' }, 'filter.value'],
  ['a long text', { ...BERLIN, value: 'x'.repeat(501) }, 'filter.value'],
  ['a lone surrogate', { ...BERLIN, value: 'x\ud800' }, 'filter'],
  ['a value for isSet', { field: 'city', op: 'isSet', value: true }, 'filter.value'],
  ['no flag', { field: 'subscribed', op: 'is', value: 'true' }, 'filter.value'],
  ['no time', { field: 'createdAt', op: 'atLeast', value: '30 February' }, 'filter.value'],
  ['one time', { field: 'createdAt', op: 'between', value: '2026-01-01T00:00:00Z' }, 'filter.value'],
  [
    'times in reverse',
    { field: 'updatedAt', op: 'between', value: ['2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z'] },
    'filter.value',
  ],
  ['no days', { field: 'createdAt', op: 'inLast', value: 0 }, 'filter.value'],
  ['half a day', { signed: NOBODY, inLast: 0.5 }, 'filter.inLast'],
  ['no id', { list: 7 }, 'filter.list', /id of a list/],
  ['two records', { list: NOBODY, tag: NOBODY }, 'filter.tag'],
])('create-, update- and preview-segment return 400 for %s', async (_, filter, path, message = /./) => {
  const segmentId = await create(BERLIN);
  const answers = [
    await client.post('segment.create-segment', { name: 'A', filter }),
    await client.post('segment.update-segment', { segmentId, filter }),
    ...(path === 'filter'
      ? []
      : [await client.get('segment.preview-segment', { filter: JSON.stringify(filter) })]),
  ];
  for (const { status, body } of answers) {
    expect([status, body.error.issues?.[0].path]).toEqual([400, path]);
    expect(body.error.issues[0].message).toMatch(message);
  }
});

it('preview-segment returns 400 for both or neither of segmentId and filter, and for a filter that is not JSON', async () => {
  const segmentId = await create(BERLIN);
  for (const [fields, path] of [
    [{}, 'segmentId'],
    [{ segmentId, filter: '{}' }, 'segmentId'],
    [{ filter: '{' }, 'filter'],
  ] as const) {
    const { status, body } = await client.get('segment.preview-segment', fields);
    expect([status, body.error.issues[0].path]).toEqual([400, path]);
  }
});

it('a segment finds contacts by each operator, without regard to case', async () => {
  const before = new Date().toISOString();
  await person('ada', { city: 'BERLIN', firstName: 'Ada', phone: '+49 30', zip: '10115' });
  await person('ben', { city: 'Bern', firstName: 'Ben', zip: '10999', subscribed: false });
  await person('eve', { city: 'Übersee' });
  const now = new Date(Date.now() + 60_000).toISOString();
  for (const [field, op, value, found] of [
    ['city', 'is', 'berlin', ['ada']],
    ['city', 'isNot', 'berlin', ['ben', 'eve']],
    ['city', 'contains', 'ER', ['ada', 'ben', 'eve']],
    ['city', 'is', 'übersee', ['eve']],
    ['city', 'startsWith', 'ÜB', ['eve']],
    ['zip', 'startsWith', '101', ['ada']],
    ['firstName', 'isSet', undefined, ['ada', 'ben']],
    ['phone', 'isSet', undefined, ['ada']],
    ['email', 'is', 'Eve@Example.org', ['eve']],
    ['email', 'contains', '@EXAMPLE', ['ada', 'ben', 'eve']],
    ['subscribed', 'is', false, ['ben']],
    ['subscribed', 'isNot', false, ['ada', 'eve']],
    ['createdAt', 'atLeast', before, ['ada', 'ben', 'eve']],
    ['createdAt', 'atMost', before, []],
    ['updatedAt', 'between', [before, now], ['ada', 'ben', 'eve']],
    ['createdAt', 'inLast', 1, ['ada', 'ben', 'eve']],
  ] as const) {
    const filter = { field, op, ...(value === undefined ? {} : { value }) };
    expect([filter, await matching(filter)]).toEqual([filter, found]);
  }
  const both = {
    all: [{ field: 'subscribed', op: 'is', value: true }, { not: { field: 'zip', op: 'isSet' } }],
  };
  expect(await matching(both)).toEqual(['eve']);
  expect(await matching({ any: [BERLIN, { not: both }] })).toEqual(['ada', 'ben']);
});

it('list-contacts and export-contacts by segmentId return its current contacts', async () => {
  const [ada] = [await person('ada', { city: 'Berlin' }), await person('ben', { city: 'Bern' })];
  const segmentId = await create(BERLIN);
  const listed = async () => (await client.get('contact.list-contacts', { segmentId })).body.data;
  expect(await listed()).toMatchObject([{ id: ada }]);
  const ben = await person('carl', { city: 'berlin' });
  expect((await listed()).map(({ id }: { id: string }) => id)).toEqual([ben, ada]);
  const { body } = await client.get('segment.preview-segment', { segmentId });
  expect(body).toEqual({
    data: { count: 2, isExact: true, contacts: await listed() },
    object: 'segment-preview',
  });
  const exported = await client.get('contact.export-contacts', { segmentId, format: 'csv' });
  expect(exported.body.match(/\w+@example/g)).toEqual(['ada@example', 'carl@example']);
});

it('a condition on a list, tag or petition finds its contacts until it is deleted, and then no one', async () => {
  const [ada, ben] = [await person('ada'), await person('ben')];
  const { listId } = await ask('list.create-list', { name: 'A' });
  const { tagId } = await ask('tag.create-tag', { name: 'A' });
  const { petitionId } = await ask('petition.create-petition', { name: 'A' });
  await ask('petition.publish-petition', { petitionId });
  await ask('list.add-contacts', { listId, contactIds: [ada] });
  await ask('tag.add-contacts', { tagId, contactIds: [ada] });
  await ask('petition.add-signature', { petitionId, contactId: ada });
  for (const condition of [{ list: listId }, { tag: tagId }, { signed: petitionId, inLast: 7 }]) {
    expect([condition, await matching(condition)]).toEqual([condition, ['ada']]);
    expect(await matching({ not: condition })).toEqual(['ben']);
  }
  const { broadcastId } = await ask('broadcast.create-broadcast', {
    name: 'May',
    content: 'Hello',
    audience: { contactIds: [ben] },
  });
  expect(await matching({ received: broadcastId })).toEqual([]);
  const segmentId = await create({ any: [{ list: listId }, { tag: tagId }] });
  expect((await client.get('contact.list-contacts', { segmentId })).body.data).toHaveLength(1);
  await client.delete('list.delete-list', { listId });
  await client.delete('tag.delete-tag', { tagId });
  expect((await client.get('contact.list-contacts', { segmentId })).body.data).toEqual([]);
});

it('create-, update- and preview-segment return 404 for a record that does not exist, and 403 without the scope to read it', async () => {
  const segmentId = await create(BERLIN);
  const { tagId } = await ask('tag.create-tag', { name: 'A' });
  const elsewhere = await api.organization();
  for (const name of ['list', 'tag', 'signed', 'received']) {
    for (const id of [NOBODY, 'x']) {
      const filter = { all: [{ [name]: id }] };
      const answers = await Promise.all([
        client.post('segment.create-segment', { name: 'B', filter }),
        client.post('segment.update-segment', { segmentId, filter }),
        client.get('segment.preview-segment', { filter: JSON.stringify(filter) }),
      ]);
      expect([name, ...answers.map(({ status }) => status)]).toEqual([name, 404, 404, 404]);
    }
  }
  const filter = { tag: tagId };
  expect((await elsewhere.post('segment.create-segment', { name: 'A', filter })).status).toBe(404);
  const { key } = await api.createKey(client.organizationId, {
    scopes: ['segment:read', 'segment:write', 'contact:read'],
  });
  const limited = new Client(client.origin, client.organizationId, key);
  const rejected = await limited.post('segment.create-segment', { name: 'A', filter });
  expect([rejected.status, rejected.body.error.message]).toEqual([403, expect.stringContaining('tag:read')]);
  expect((await limited.post('segment.create-segment', { name: 'A', filter: BERLIN })).status).toBe(200);
});

describe('conditions on custom fields', () => {
  const field = async (name: string, type: string, options?: string[]) =>
    ask('field.create-field', { name, type, ...(options ? { options } : {}) });
  beforeEach(async () => {
    await field('Notes', 'TEXT');
    await field('Size', 'NUMBER');
    await field('Birthday', 'DATE');
    await field('Member', 'BOOLEAN');
    await field('Colour', 'CHOICE', ['red', 'blue']);
    await field('Skills', 'CHOICES', ['cook', 'drive']);
  });

  it('find contacts by the operators of each type', async () => {
    const [today, member] = [new Date().toISOString().slice(0, 10), true];
    await person('ada', { customFields: { notes: 'Likes RIVERS', size: 38.5, birthday: today, member } });
    await person('ben', { customFields: { size: 44, colour: 'red', skills: ['cook', 'drive'] } });
    await person('eve');
    for (const [name, op, value, found] of [
      ['notes', 'contains', 'rivers', ['ada']],
      ['notes', 'isNot', 'likes rivers', ['ben', 'eve']],
      ['notes', 'startsWith', 'likes', ['ada']],
      ['size', 'is', 38.5, ['ada']],
      ['size', 'atLeast', 40, ['ben']],
      ['size', 'between', [30, 40], ['ada']],
      ['birthday', 'inLast', 7, ['ada']],
      ['birthday', 'atMost', '2000-01-01', []],
      ['member', 'is', true, ['ada']],
      ['member', 'isNot', true, ['ben', 'eve']],
      ['colour', 'is', 'red', ['ben']],
      ['skills', 'contains', 'drive', ['ben']],
      ['skills', 'isSet', undefined, ['ben']],
    ] as const) {
      const filter = { field: `fields.${name}`, op, ...(value === undefined ? {} : { value }) };
      expect([filter, await matching(filter)]).toEqual([filter, found]);
    }
    const segmentId = await create({ not: { field: 'fields.size', op: 'isSet' } });
    expect((await client.get('contact.list-contacts', { segmentId })).body.data).toHaveLength(1);
    const { data: fields } = (await client.get('field.list-fields', { q: 'size' })).body;
    await client.delete('field.delete-field', { fieldId: fields[0].id });
    expect((await client.get('contact.list-contacts', { segmentId })).body.data).toHaveLength(3);
  });

  it.each<[filter: object, path: string, message: RegExp]>([
    [{ field: 'fields.age', op: 'isSet' }, 'filter.field', /use fields\.notes, fields\.size, /],
    [{ field: 'fields.size', op: 'contains', value: '7' }, 'filter.op', /is, isNot, atLeast, .* NUMBER/],
    [{ field: 'fields.size', op: 'is', value: '7' }, 'filter.value', /number/],
    [{ field: 'fields.size', op: 'between', value: [2, 1] }, 'filter.value', /lower/],
    [{ field: 'fields.birthday', op: 'atLeast', value: '30 May' }, 'filter.value', /date/],
    [{ field: 'fields.colour', op: 'is', value: 'green' }, 'filter.value', /red, blue/],
    [{ field: 'fields.skills', op: 'contains', value: 'fly' }, 'filter.value', /cook, drive/],
    [{ field: 'fields.notes', op: 'is', value: '' }, 'filter.value', /required/],
  ])('return 400 for %j', async (filter, path, message) => {
    const { status, body } = await client.post('segment.create-segment', { name: 'A', filter });
    expect([status, body.error.issues[0].path]).toEqual([400, path]);
    expect(body.error.issues[0].message).toMatch(message);
  });
});
