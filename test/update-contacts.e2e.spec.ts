import { v7 as uuidv7 } from 'uuid';
import { Fixture } from './fixture.js';
import { Api, Client, NOBODY } from './harness.js';
import { eventually } from './processes.js';
import { longIt } from './length.js';

let api: Api;
let own: Fixture;
beforeAll(async () => {
  api = await Api.start();
});
afterAll(() => api.stop());
beforeEach(async () => {
  own = new Fixture(api, await api.organization());
});

const create = async (fields: object = {}): Promise<string> =>
  (await own.ask('contact.create-contact', { ...own.person(), ...fields })).contactId;
const update = (contactIds: string[], changes: object, headers = {}) =>
  own.send('contact.update-contacts', { contactIds, ...changes }, { headers });
const segment = (filter: object) => own.ask('segment.create-segment', { name: own.unique(), filter });
const whole = async (contactId: string) => {
  const record = await own.ask('contact.get-contact', { contactId, include: 'tags,lists' });
  const names = (part: { data: { name: string }[] }) => part.data.map(({ name }) => name).toSorted();
  return { ...record, tags: names(record.tags), lists: names(record.lists) };
};
const typesOf = async (recordId: string) =>
  (await own.ask('history.list-events', { recordId })).map(({ type }: { type: string }) => type);

describe('update-contacts', () => {
  it('sets fields of all contacts, adds and removes tags and lists, and records nothing twice', async () => {
    await own.ask('field.create-field', { name: 'Shoe size', type: 'NUMBER' });
    const [may, june] = [await own.a('list'), await own.a('list')];
    const listIds = [may.listId!];
    const ids = [await create({ tags: ['Donor'], listIds }), await create({ city: 'Paris', region: 'IDF' })];
    const other = await create({ tags: ['Donor'] });
    const changes = {
      ...{ city: 'Paris', region: null, customFields: { shoeSize: 42 } },
      ...{ addTags: ['member', 'New'], removeTags: ['DONOR', 'none'] },
      ...{ addListIds: [june.listId], removeListIds: listIds },
    };
    const before = await typesOf(ids[1]!);
    for (let n = 0; n < 2; n += 1)
      expect(await update([...ids, ids[0]!], changes)).toMatchObject({
        status: 200,
        body: { data: { contacts: 2, operationId: null }, object: 'update' },
      });
    const { name } = await own.ask('list.get-list', june);
    for (const id of ids) {
      const changed = { city: 'Paris', region: null, customFields: { shoeSize: 42 } };
      expect(await whole(id)).toMatchObject({
        ...changed,
        subscribed: true,
        tags: ['New', 'member'],
        lists: [name],
      });
    }
    expect(await whole(other)).toMatchObject({
      city: 'London',
      tags: ['Donor'],
      lists: [],
      customFields: {},
    });
    expect(await typesOf(ids[1]!)).toEqual([...before, 'ContactUpdated']);
    expect(await own.ask('list.get-list', june)).toMatchObject({ contacts: 2 });
    expect(await own.ask('list.get-list', may)).toMatchObject({ contacts: 0 });
  });

  it('changes nothing if a contact, a list or a value is not valid', async () => {
    const id = await create();
    const { listId } = await own.a('list');
    const stranger = new Fixture(api, await api.organization());
    const foreign = (await stranger.ask('contact.create-contact', stranger.person())).contactId;
    const foreignList = (await stranger.a('list')).listId;
    const cases: [string[], object, number, string][] = [
      [[id, NOBODY], { city: 'Rome', addTags: ['A'] }, 404, NOBODY],
      [[id, 'me'], { city: 'Rome', addTags: ['A'] }, 404, 'me'],
      [[id, foreign], { city: 'Rome', addListIds: [listId] }, 404, foreign],
      [[id], { city: 'Rome', addListIds: [listId, foreignList] }, 404, 'addListIds'],
      [[id], { city: 'Rome', removeListIds: [NOBODY] }, 404, 'removeListIds'],
      [[id], { city: 'Rome', customFields: { no: 1 } }, 400, 'customFields.no'],
      [[], { city: 'Rome' }, 400, 'contactIds'],
      [Array.from({ length: 1_001 }, () => id), { city: 'Rome' }, 400, 'contactIds'],
      [[id], { email: 'a@example.org' }, 400, 'email'],
      [[id], { subscribed: true }, 400, 'subscribed'],
      [[id], { addTags: Array.from({ length: 11 }, (_, n) => `${n}`) }, 400, 'addTags'],
    ];
    for (const [contactIds, changes, status, named] of cases) {
      const refused = await update(contactIds, changes);
      expect([changes, refused.status]).toEqual([changes, status]);
      expect(JSON.stringify(refused.body.error)).toContain(named);
    }
    expect(await typesOf(id)).toEqual(['ContactCreated']);
    expect(await whole(id)).toMatchObject({ city: 'London', tags: [], lists: [] });
  });

  it('unsubscribes contacts immediately, and records nothing about those who are not subscribed', async () => {
    const [ada, bob] = [await create(), await create({ subscribed: false })];
    const unsubscribe = { subscribed: false, addTags: ['Cold'] };
    for (let n = 0; n < 2; n += 1) expect((await update([ada, bob], unsubscribe)).status).toBe(200);
    expect(await typesOf(ada)).toEqual(['ContactCreated', 'ContactUnsubscribed']);
    expect(await typesOf(bob)).toEqual(['ContactCreated']);
    for (const id of [ada, bob]) expect(await whole(id)).toMatchObject({ subscribed: false, tags: ['Cold'] });
    // Those that match are chosen once, so a filter by what changes is safe.
    const eve = await create();
    const matching = { subscribed: true };
    const changed = await own.ask('contact.update-contacts', { matching, subscribed: false });
    expect(changed).toEqual({ contacts: 1, operationId: null, updateId: null });
    expect(await typesOf(eve)).toEqual(['ContactCreated', 'ContactUnsubscribed']);
  });

  it('concurrent updates with the same new tag create it once', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => create()));
    const answers = await Promise.all(ids.map((id) => update([id], { addTags: ['Fresh'], city: 'Rome' })));
    expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 200));
    expect(await own.ask('tag.list-tags')).toMatchObject([{ name: 'Fresh', contacts: 20 }]);
  });

  it('is undone for exactly the contacts that it changed, except for what has changed since', async () => {
    const { listId } = await own.a('list');
    const had = await create({ tags: ['Donor'] });
    const [got, lost] = [await create({ tags: ['Former'] }), await create({ tags: ['Former'] })];
    const [again, gone] = [await create(), await create()];
    const ids = [had, got, lost, again, gone];
    const changes = { addTags: ['Donor'], removeTags: ['Former'], addListIds: [listId], city: 'Rome' };
    const headers = { 'Idempotency-Key': own.unique(), 'X-Request-Id': uuidv7() };
    const { updateId } = (await update(ids, changes, headers)).body.data;
    expect(updateId).toBe(headers['X-Request-Id']);
    expect((await update(ids, changes, headers)).body.data.updateId).toBe(updateId);
    for (const since of [{ removeTags: ['Donor'] }, { addTags: ['Donor'] }]) await update([again], since);
    for (const since of [{ addTags: ['Former'] }, { removeTags: ['Former'] }]) await update([lost], since);
    await own.ask('contact.delete-contact', { contactId: gone });
    // The tag Donor of two, Former of one, and the list of four.
    for (const count of [7, 0]) {
      const undone = await own.ask('contact.undo-update', { updateId });
      expect(undone).toEqual({ changes: count, operationIds: [] });
      const states = await Promise.all([had, got, lost, again].map(whole));
      expect(states.map(({ tags, lists, city }) => [tags, lists, city])).toEqual([
        [['Donor'], [], 'Rome'],
        [['Former'], [], 'Rome'],
        [[], [], 'Rome'],
        [['Donor'], [], 'Rome'],
      ]);
      expect(await own.ask('list.get-list', { listId })).toMatchObject({ contacts: 0 });
    }
  });

  it('is only undone with its scopes, in its organization, and by its own id', async () => {
    const id = await create();
    const { updateId } = (await update([id], { addTags: ['Donor'] })).body.data;
    expect((await update([id], { city: 'Rome' })).body.data.updateId).toBe(null);
    const named = await update([id], { addTags: ['Donor'] }, { 'X-Request-Id': 'Monday' });
    expect(named.body.data.updateId).toBe(null);
    const weak = await own.caller({ scopes: ['contact:write', 'list:write'] });
    const refused = await own.send('contact.undo-update', { updateId }, { by: weak });
    expect([refused.status, refused.body.error.message]).toEqual([403, expect.stringContaining('tag:write')]);
    const stranger = new Fixture(api, await api.organization());
    expect((await stranger.send('contact.undo-update', { updateId })).status).toBe(404);
    const [{ requestId }] = await own.ask('history.list-events', { recordId: id });
    for (const other of [requestId, NOBODY])
      expect((await own.send('contact.undo-update', { updateId: other })).status).toBe(404);
    expect(await whole(id)).toMatchObject({ tags: ['Donor'] });
  });

  it('rejects another body with the same Idempotency-Key', async () => {
    const id = await create();
    const headers = { 'Idempotency-Key': own.unique() };
    expect((await update([id], { city: 'Rome', addTags: ['A'] }, headers)).status).toBe(200);
    expect((await update([id], { city: 'Rome', addTags: ['A'] }, headers)).status).toBe(200);
    expect((await update([id], { city: 'Rome', addTags: ['B'] }, headers)).status).toBe(422);
    expect(await whole(id)).toMatchObject({ city: 'Rome', tags: ['A'] });
  });

  longIt('changes a thousand contacts', async () => {
    const lines = Array.from({ length: 1_002 }, (_, n) => `many-${n}@example.org`);
    const body = ['email', ...lines].join('\n');
    await own.ask('contact.import-contacts', { body, contentType: 'text/csv', subscribed: 'false' });
    const ids: string[] = [];
    for (let cursor: string | undefined; ids.length < 1_000;) {
      const page = await own.send('contact.list-contacts', { limit: '100', ...(cursor ? { cursor } : {}) });
      ids.push(...page.body.data.map((record: { id: string }) => record.id));
      ({ cursor } = page.body.pagination);
    }
    const changed = await update(ids, { city: 'Rome', addTags: ['Many'] });
    expect(changed.body.data).toMatchObject({ contacts: 1_000, operationId: null });
    expect(await own.ask('tag.list-tags')).toMatchObject([{ name: 'Many', contacts: 1_000 }]);
    expect((await own.ask('contact.list-contacts', { city: 'Rome', limit: '100' })).length).toBe(100);

    // A segment with more contacts is updated in the background.
    const { segmentId } = await segment({ field: 'email', op: 'startsWith', value: 'many-' });
    const tooMany = await own.send('contact.update-contacts', { segmentId, subscribed: false });
    expect([tooMany.status, JSON.stringify(tooMany.body)]).toEqual([
      400,
      expect.stringContaining('subscribed'),
    ]);
    const headers = { 'Idempotency-Key': own.unique() };
    const changes = { segmentId, region: 'Lazio', addTags: ['Most'], removeTags: ['Many'] };
    const started = await own.send('contact.update-contacts', changes, { headers });
    expect(started).toMatchObject({ status: 200, body: { data: { contacts: 1_002 } } });
    const repeated = await own.send('contact.update-contacts', changes, { headers });
    expect(repeated.body).toEqual(started.body);
    const { operationId } = started.body.data;
    // A contact that was deleted since is named, and the others are changed.
    await own.ask('contact.delete-contact', { contactId: ids[0] });
    api.startWorkers();
    const progress = () => own.ask('import.get-import', { importId: operationId });
    await eventually(async () => expect((await progress()).status).toBe('DONE'));
    expect(await progress()).toMatchObject({ rows: 1_002, created: 0, updated: 1_001, failed: 1 });
    const tags = async () =>
      (await own.ask('tag.list-tags')).map((tag: any) => [tag.name, tag.contacts]).toSorted();
    expect(await tags()).toEqual([
      ['Many', 0],
      ['Most', 1_001],
    ]);
    expect(await whole(ids[999]!)).toMatchObject({ city: 'Rome', region: 'Lazio', tags: ['Most'] });

    // The same for its undo.
    const { changes: count, operationIds } = await own.ask('contact.undo-update', { updateId: operationId });
    expect([count, operationIds]).toEqual([1_001 + 999, [expect.any(String)]]);
    await eventually(async () =>
      expect(await own.ask('import.get-import', { importId: operationIds[0] })).toMatchObject({
        status: 'DONE',
        updated: 1_001,
        failed: 0,
      }),
    );
    expect(await tags()).toEqual([
      ['Many', 999],
      ['Most', 0],
    ]);
    expect(await whole(ids[999]!)).toMatchObject({ city: 'Rome', region: 'Lazio', tags: ['Many'] });
  });

  it('changes the contacts of a segment, and no others', async () => {
    const [inside, outside] = [await create({ city: 'Turin' }), await create({ city: 'Milan' })];
    const { segmentId } = await segment({ field: 'city', op: 'is', value: 'Turin' });
    const ask = (fields: object) => own.send('contact.update-contacts', { addTags: ['Here'], ...fields });
    expect((await ask({ segmentId })).body.data).toMatchObject({ contacts: 1, operationId: null });
    expect([(await whole(inside)).tags, (await whole(outside)).tags]).toEqual([['Here'], []]);
    const empty = await segment({ field: 'city', op: 'is', value: 'Nowhere' });
    expect((await ask(empty)).body.data).toEqual({ contacts: 0, operationId: null, updateId: null });

    const stranger = new Fixture(api, await api.organization());
    const foreign = await stranger.a('segment');
    const { listId } = await stranger.a('list');
    const cases: [object, number, string][] = [
      [{}, 400, 'contactIds'],
      [{ segmentId, contactIds: [inside] }, 400, 'contactIds'],
      [{ segmentId: NOBODY }, 404, 'segment'],
      [foreign, 404, 'segment'],
      [{ segmentId, customFields: { no: 1 } }, 400, 'customFields.no'],
      [{ segmentId, addListIds: [NOBODY] }, 404, 'addListIds'],
      [{ segmentId, matching: {} }, 400, 'contactIds'],
      [{ matching: { shoe: 1 } }, 400, 'matching.shoe'],
      [{ matching: [] }, 400, 'matching'],
      [{ matching: { organizationId: stranger.organizationId } }, 400, 'matching.organizationId'],
      [{ matching: { listId } }, 404, 'list'],
      [{ contactIds: [NOBODY], dryRun: true }, 404, NOBODY],
    ];
    for (const [fields, status, named] of cases) {
      const refused = await ask(fields);
      expect([fields, refused.status]).toEqual([fields, status]);
      expect(JSON.stringify(refused.body.error)).toContain(named);
    }
  });

  it('changes the contacts that match filters, and counts them before', async () => {
    const { listId } = await own.a('list');
    const noon = '2020-01-01T12:00:00Z';
    const ids = [
      await create({ firstName: 'Ada', city: 'Turin', listIds: [listId] }),
      await create({ firstName: 'Adam', city: 'Turin', subscribed: false }),
      await create({ firstName: 'Eve', city: 'Milan', country: 'Italia' }),
    ];
    const { segmentId } = await segment({ field: 'city', op: 'is', value: 'Turin' });
    const cases: [object, number[]][] = [
      [{}, [0, 1, 2]],
      [{ q: 'ada' }, [0, 1]],
      [{ q: 'ada', subscribed: false }, [1]],
      [{ city: 'Turin', listId }, [0]],
      [{ segmentId, subscribed: true }, [0]],
      [{ country: 'IT' }, [2]],
      [{ createdBefore: noon }, []],
      [{ createdAfter: noon, city: 'Milan' }, [2]],
    ];
    for (const [n, [matching, chosen]] of cases.entries()) {
      const tag = `Case ${n}`;
      const ask = (fields: object) =>
        own.ask('contact.update-contacts', { matching, addTags: [tag], ...fields });
      const none = { contacts: chosen.length, operationId: null };
      expect(await ask({ dryRun: true })).toEqual({ ...none, updateId: null });
      expect((await Promise.all(ids.map(whole))).filter(({ tags }) => tags.includes(tag))).toEqual([]);
      expect(await ask({})).toMatchObject(none);
      const tagged = await Promise.all(ids.map(async (id) => (await whole(id)).tags.includes(tag)));
      expect([matching, tagged]).toEqual([matching, ids.map((_, place) => chosen.includes(place))]);
    }
    const scopes = ['contact:write', 'contact:read', 'tag:write'];
    const { key } = await own.ask('api-key.create-api-key', { name: own.unique(), scopes });
    const limited = new Client(own.client.origin, own.organizationId, key);
    const refused = await limited.post('contact.update-contacts', { matching: { listId }, addTags: ['No'] });
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      403,
      expect.stringContaining('matching.listId'),
    ]);
  });
});

it('delete-contacts erases suppressions of the addresses of each contact', async () => {
  const ids = [await create(), await create()];
  const { email: former } = await whole(ids[0]!);
  await own.ask('contact.update-contact', { contactId: ids[0], email: `new-${former}` });
  const { email } = await whole(ids[1]!);
  for (const address of [former, email]) await own.ask('suppression.create-suppression', { email: address });
  const suppressed = async () =>
    (await own.ask('suppression.list-suppressions')).map(({ email }: { email: string | null }) => email);
  expect((await suppressed()).toSorted()).toEqual([former, email].toSorted());
  await own.ask('contact.delete-contacts', { contactIds: ids });
  expect(await suppressed()).toEqual([null, null]);
});

it('delete-contacts erases all of the contacts or none, and repeats nothing', async () => {
  const before = await create();
  const changed = await create({ tags: ['Donor'] });
  // An earlier address of one contact is the current address of another.
  const { email } = await whole(changed);
  await own.ask('contact.update-contact', { contactId: changed, email: `former-${email}` });
  const ids = [before, changed, await create({ email, externalIds: ['crm:1'] })];
  await own.ask('contact.delete-contact', { contactId: before });
  const send = (contactIds: string[]) => own.send('contact.delete-contacts', { contactIds });
  expect((await send([...ids, uuidv7()])).status).toBe(404);
  expect(await own.ask('contact.list-contacts', {})).toHaveLength(2);
  for (let n = 0; n < 2; n += 1)
    expect(await send([...ids, before])).toMatchObject({
      status: 200,
      body: { data: { contacts: 3 }, object: 'deletion' },
    });
  expect(await own.ask('contact.list-contacts', {})).toEqual([]);
  for (const id of ids)
    expect((await typesOf(id)).filter((type: string) => type === 'ContactErased')).toHaveLength(1);
  // Their addresses and ids are free again.
  await create({ email, externalIds: ['crm:1'] });
  expect((await send(Array.from({ length: 1_001 }, () => before))).status).toBe(400);
});
