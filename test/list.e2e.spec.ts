import { SharedApi, type Client, ISO, NOBODY } from './harness.js';
import { isLong } from './length.js';

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
  const { status, body } = await client.post('list.create-list', { name: 'Volunteers', ...fields });
  expect(status).toBe(200);
  return body.data.listId;
}
let people = 0;
async function person(): Promise<string> {
  const { organizationId } = client;
  const email = `member-${(people += 1)}@example.org`;
  return (await client.post('contact.create-contact', { organizationId, email })).body.data.contactId;
}
/** Creates contacts in batches of a hundred, because a busy server would reject a thousand at once. */
async function persons(number: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < number) {
    const next = Array.from({ length: Math.min(100, number - ids.length) }, person);
    ids.push(...(await Promise.all(next)));
  }
  return ids;
}
/** Imports contacts in one request, which is faster. */
async function manyPersons(number: number): Promise<string[]> {
  const lines = Array.from({ length: number }, (_, n) => JSON.stringify({ email: `many-${n}@example.org` }));
  const type = { 'Content-Type': 'application/x-ndjson' };
  await client.request('POST', '/v1/contact.import-contacts?subscribed=true', lines.join('\n'), type);
  const { body } = await client.get('contact.export-contacts');
  const all = (body as string).trimEnd().split('\n');
  return all
    .map((line) => JSON.parse(line))
    .flatMap(({ id, email }) => (email.startsWith('many-') ? id : []));
}
const get = (listId: string) => client.get('list.get-list', { listId });
const add = (listId: string, contactIds: unknown, headers = {}) =>
  client.post('list.add-contacts', { listId, contactIds }, headers);
const remove = (listId: string, contactIds: unknown) =>
  client.delete('list.remove-contacts', { listId, contactIds });
async function members(listId: string): Promise<string[]> {
  const { body } = await client.get('contact.list-contacts', { listId, limit: '100' });
  return body.data.map(({ id }: { id: string }) => id).sort();
}
async function events(type: string): Promise<number> {
  return (await api.eventTypes(client.organizationId)).filter((found) => found === type).length;
}

describe('create-list', () => {
  it('returns 200 with the id, and get-list returns every field', async () => {
    const { status, body } = await client.post('list.create-list', { name: ' Volunteers ' });
    expect([status, body]).toEqual([200, { data: { listId: expect.any(String) }, object: 'list' }]);
    expect((await get(body.data.listId)).body).toEqual({
      data: {
        id: body.data.listId,
        createdAt: expect.stringMatching(ISO),
        updatedAt: expect.stringMatching(ISO),
        version: 1,
        name: 'Volunteers',
        description: null,
        organizationId: client.organizationId,
        contacts: 0,
      },
      object: 'list',
    });
  });

  it('returns the first id for the same body, and another after the list is deleted', async () => {
    const listId = await create();
    expect(await create({ description: null })).toBe(listId);
    await client.delete('list.delete-list', { listId });
    expect(await create()).not.toBe(listId);
  });

  it.each([
    ['no name', { name: undefined }, 'name'],
    ['a name of 201 characters', { name: 'x'.repeat(201) }, 'name'],
    ['a description of 10,001 characters', { description: 'x'.repeat(10_001) }, 'description'],
    ['an unknown field', { contacts: 5 }, 'contacts'],
  ])('returns 400 for %s', async (_, fields, path) => {
    const { status, body } = await client.post('list.create-list', { name: 'A', ...fields });
    expect([status, body.error.issues[0].path]).toEqual([400, path]);
  });
});

describe('update-list', () => {
  it('returns 200 with the whole list, and records nothing if nothing changes', async () => {
    const listId = await create({ description: 'Who helps' });
    await add(listId, await persons(2));
    const { status, body } = await client.post('list.update-list', {
      listId,
      name: 'Helpers',
      description: null,
    });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ name: 'Helpers', description: null, contacts: 2 });
    expect((await get(listId)).body).toEqual(body);
    await client.post('list.update-list', { listId, name: 'Helpers' });
    expect(await events('ListUpdated')).toBe(1);
    expect((await client.post('list.update-list', { listId, name: null })).status).toBe(400);
  });
});

describe('add-contacts', () => {
  it('returns 200 with the list, counted immediately on every instance, and skips existing members', async () => {
    const listId = await create();
    const [one, two, three] = (await persons(3)) as [string, string, string];
    const { status, body } = await add(listId, [one, two, one]);
    expect([status, body.object, body.data.contacts]).toEqual([200, 'list', 2]);
    expect((await add(listId, [one, two])).body).toEqual(body);
    expect((await add(listId, [two, three])).body.data.contacts).toBe(3);
    const other = client.at(api.instances[1]!.origin);
    expect((await other.get('list.get-list', { listId })).body.data.contacts).toBe(3);
    expect(await members(listId)).toEqual([one, two, three].sort());
    expect(await events('ContactAddedToList')).toBe(3);
  });

  it('returns 404 naming the one foreign contact among many, and adds none', async () => {
    const mine = client;
    client = await api.organization();
    const foreign = await person();
    client = mine;
    const listId = await create();
    // At most 1,000 in a request.
    const count = isLong ? 999 : 199;
    const ids = await manyPersons(count);
    ids.splice(100, 0, foreign);
    const { status, body } = await add(listId, ids);
    expect([status, body.error.code]).toEqual([404, 'NOT_FOUND']);
    expect(body.error.message).toContain(foreign);
    expect((await get(listId)).body.data.contacts).toBe(0);
    expect(await events('ContactAddedToList')).toBe(0);
    ids.splice(100, 1);
    expect((await add(listId, ids)).body.data.contacts).toBe(count);
  });

  it('returns 404 for erased, unknown and invalid contacts', async () => {
    const listId = await create();
    const [erased, stays] = (await persons(2)) as [string, string];
    await client.delete('contact.delete-contact', { contactId: erased });
    for (const id of [erased, NOBODY, 'x', listId]) {
      const { status, body } = await add(listId, [stays, id]);
      expect([status, body.error.message.includes(id)]).toEqual([404, true]);
    }
    expect((await get(listId)).body.data.contacts).toBe(0);
  });

  it('returns 200 for overlapping parallel additions on two instances, and adds each contact once', async () => {
    const listId = await create();
    const [count, wide] = [isLong ? 20 : 8, 21];
    const ids = await persons(count + wide - 1);
    const answers = await Promise.all(
      Array.from({ length: count }, (_, n) =>
        client
          .at(api.instances[n % 2]!.origin)
          .post('list.add-contacts', { listId, contactIds: ids.slice(n, n + wide).reverse() }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await get(listId)).body.data.contacts).toBe(ids.length);
    expect(await members(listId)).toEqual([...ids].sort());
    expect(await events('ContactAddedToList')).toBe(ids.length);
  });

  it.each([
    ['missing contactIds', undefined],
    ['empty contactIds', []],
    ['1,001 contactIds', Array.from({ length: 1_001 }, () => NOBODY)],
    ['a string in place of contactIds', NOBODY],
    ['a number among the ids', [NOBODY, 1]],
    ['null among the ids', [null]],
    ['an empty id', ['']],
  ])('returns 400 for %s', async (_, contactIds) => {
    const { status, body } = await add(await create(), contactIds);
    expect([status, body.error.issues[0].path]).toEqual([400, 'contactIds']);
  });

  it('with an Idempotency-Key, a repeat adds no one, and a different body returns 422', async () => {
    const listId = await create();
    const [one, two] = (await persons(2)) as [string, string];
    const key = { 'Idempotency-Key': 'add' };
    const first = await add(listId, [one], key);
    await remove(listId, [one]);
    expect((await add(listId, [one], key)).body).toEqual(first.body);
    expect((await get(listId)).body.data.contacts).toBe(0);
    expect((await add(listId, [two], key)).status).toBe(422);
  });
});

it('a repeated addition or removal returns the first response after the list was renamed or deleted', async () => {
  const listId = await create();
  const [one, two] = (await persons(2)) as [string, string];
  const key = (name: string) => ({ 'Idempotency-Key': name });
  const removeOne = () => client.delete('list.remove-contacts', { listId, contactIds: [one] }, key('remove'));
  const added = await add(listId, [one, two], key('add'));
  const removed = await removeOne();
  expect([added.body.data.contacts, removed.body.data.contacts]).toEqual([2, 1]);
  await client.post('list.update-list', { listId, name: 'Helpers' });
  await client.delete('list.delete-list', { listId });
  expect((await add(listId, [one, two], key('add'))).body).toEqual(added.body);
  expect((await removeOne()).body).toEqual(removed.body);
});

describe('remove-contacts', () => {
  it('returns 200 with the list, records nothing for repeats and non-members, and allows adding again', async () => {
    const listId = await create();
    const [one, two, three] = (await persons(3)) as [string, string, string];
    await add(listId, [one, two]);
    const { status, body } = await remove(listId, [one, three]);
    expect([status, body.object, body.data.contacts]).toEqual([200, 'list', 1]);
    expect((await remove(listId, [one, three])).body).toEqual(body);
    expect(await events('ContactRemovedFromList')).toBe(1);
    expect(await members(listId)).toEqual([two]);
    expect((await add(listId, [one])).body.data.contacts).toBe(2);
  });

  it('removes a contact once when 20 requests run in parallel on two instances', async () => {
    const listId = await create();
    const ids = await persons(10);
    await add(listId, ids);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        client
          .at(api.instances[n % 2]!.origin)
          .delete('list.remove-contacts', { listId, contactIds: n % 3 ? ids : [...ids].reverse() }),
      ),
    );
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.data?.contacts}`))).toEqual(
      new Set(['200 0']),
    );
    expect(await events('ContactRemovedFromList')).toBe(10);
  });

  it('returns 404 for an id that was never a contact, and 200 for an erased contact', async () => {
    const listId = await create();
    const [erased, stays] = (await persons(2)) as [string, string];
    await add(listId, [erased, stays]);
    await client.delete('contact.delete-contact', { contactId: erased });
    expect((await get(listId)).body.data.contacts).toBe(1);
    expect((await remove(listId, [erased])).body.data.contacts).toBe(1);
    const { status, body } = await remove(listId, [stays, NOBODY]);
    expect([status, body.error.message.includes(NOBODY)]).toEqual([404, true]);
    expect((await get(listId)).body.data.contacts).toBe(1);
  });
});

it('an erased contact leaves all lists exactly once, even while it is added and removed', async () => {
  const listId = await create();
  const ids = await persons(isLong ? 20 : 8);
  await add(listId, ids.slice(0, ids.length / 2));
  await Promise.all(
    ids.map((contactId, n) => {
      const there = client.at(api.instances[n % 2]!.origin);
      return Promise.all([
        there.delete('list.remove-contacts', { listId, contactIds: [contactId] }),
        client.delete('contact.delete-contact', { contactId }),
        there.post('list.add-contacts', { listId, contactIds: [contactId] }),
      ]);
    }),
  );
  expect((await get(listId)).body.data.contacts).toBe(0);
  expect(await members(listId)).toEqual([]);
});

describe('delete-list', () => {
  it('returns 200 with the id, even for repeats, and keeps the contacts', async () => {
    const listId = await create();
    const [contactId] = (await persons(1)) as [string];
    await add(listId, [contactId]);
    for (let n = 0; n < 2; n += 1) {
      const { status, body } = await client.delete('list.delete-list', { listId });
      expect([status, body]).toEqual([200, { data: { listId }, object: 'list' }]);
    }
    const answers = await Promise.all([
      get(listId),
      add(listId, [contactId]),
      remove(listId, [contactId]),
      client.post('list.update-list', { listId, name: 'B' }),
      client.get('contact.list-contacts', { listId }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    const { organizationId } = client;
    expect((await client.get('contact.get-contact', { contactId, organizationId })).status).toBe(200);
  });
});

describe('list-lists', () => {
  it('searches, sorts by name and paginates', async () => {
    for (const name of ['Cooks', 'Artists', 'Bakers of bread']) await create({ name });
    const page = async (query: Record<string, string>) => (await client.get('list.list-lists', query)).body;
    const names = ({ data }: { data: { name: string }[] }) => data.map(({ name }) => name);
    const first = await page({ sort: 'name', limit: '2' });
    expect([first.object, names(first)]).toEqual(['lists', ['Artists', 'Bakers of bread']]);
    expect(names(await page({ sort: 'name', limit: '2', cursor: first.pagination.cursor }))).toEqual([
      'Cooks',
    ]);
    expect(names(await page({ q: 'BREAD' }))).toEqual(['Bakers of bread']);
  });
});

describe('list-contacts by listId', () => {
  it('pages through exactly the members, with other filters', async () => {
    const listId = await create();
    const ids = await persons(7);
    await persons(3);
    await add(listId, ids);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { body } = await client.get('contact.list-contacts', {
        listId,
        limit: '3',
        ...(cursor ? { cursor } : {}),
      });
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.pagination.cursor ?? undefined;
    } while (cursor);
    // Sorted by creation time, which may differ from the order of ids because they were created in parallel.
    expect([...seen].sort()).toEqual([...ids].sort());
    const none = await client.get('contact.list-contacts', { listId, subscribed: 'false' });
    expect(none.body.data).toEqual([]);
  });
});

it('returns 404 for a list of another organization', async () => {
  const listId = await create();
  const [member] = (await persons(1)) as [string];
  await add(listId, [member]);
  const mine = client;
  const other = await api.organization();
  client = other;
  const own = await create();
  const ownContact = await person();
  const answers = await Promise.all([
    get(listId),
    client.post('list.update-list', { listId, name: 'Mine' }),
    client.delete('list.delete-list', { listId }),
    add(listId, [ownContact]),
    remove(listId, [ownContact]),
    add(own, [member]),
    remove(own, [member]),
    client.get('contact.list-contacts', { listId }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
  client = mine;
  expect((await get(listId)).body.data.contacts).toBe(1);
});
