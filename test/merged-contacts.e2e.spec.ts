import { RecordReader } from '#libs/commands';
import { unsubscribeToken } from '../src/broadcasts/index.js';
import { Fixture } from './fixture.js';
import { command } from './commands.js';
import { Api, differencesIn, NOBODY } from './harness.js';
import { ENCRYPTION_KEY } from './processes.js';

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
const merge = (contactId: string, ...otherIds: string[]) =>
  own.ask('contact.merge-contacts', { contactId, otherIds });
const sign = (petition: object, contactId: string, more: object = {}) =>
  own.ask('petition.add-signature', { ...petition, contactId, ...more });
const whole = (contactId: string) =>
  own.ask('contact.get-contact', { contactId, include: 'tags,lists,signatures,consents' });
const countOf = async ({ petitionId }: { petitionId?: string }) =>
  (await own.ask('petition.get-petition', { petitionId })).signatures;
const names = (part: { data: { name: string }[] }) => part.data.map(({ name }) => name).sort();

/** Rebuilds the projections from the history and compares them. */
async function expectExact(): Promise<void> {
  const { projections } = api.instances[0]!.runtime;
  for (const name of ['contacts', 'petitions', 'lists', 'tags', 'suppressions'])
    expect({ [name]: await differencesIn(projections, name) }).toEqual({ [name]: [] });
}

it('fills empty fields and moves lists, tags and signatures, and counts stay exact', async () => {
  const survivor = await create({ firstName: 'Ada', city: null, phone: null, tags: ['Donor'] });
  const { listId } = await own.a('list');
  const one = await create({
    firstName: 'A.',
    city: 'Paris',
    phone: '+33 1',
    tags: ['donor', 'Member'],
    listIds: [listId],
  });
  const two = await create({ firstName: 'B.', city: 'Rome', bio: 'Second', listIds: [listId] });
  const [both, moved] = [await own.a('petition'), await own.a('petition')];
  const kept = await sign(both, survivor, { comment: 'Mine' });
  await sign(both, one, { comment: 'Again' });
  const { signatureId } = await sign(moved, two, { comment: 'Save the river' });
  const { createdAt } = (await own.ask('petition.list-signatures', moved))[0];

  const merged = await merge(survivor, one, two);
  expect(merged).toMatchObject({
    id: survivor,
    firstName: 'Ada',
    city: 'Paris',
    phone: '+33 1',
    bio: 'Second',
  });
  const found = await whole(survivor);
  expect([names(found.tags), found.lists.data.map(({ id }: { id: string }) => id)]).toEqual([
    ['Donor', 'Member'],
    [listId],
  ]);
  expect(found.signatures.data).toHaveLength(2);
  expect(found.signatures.data).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ id: kept.signatureId, comment: 'Mine' }),
      expect.objectContaining({ id: signatureId, contactId: survivor, comment: 'Save the river', createdAt }),
    ]),
  );
  expect([await countOf(both), await countOf(moved)]).toEqual([1, 1]);
  expect((await own.ask('list.get-list', { listId })).contacts).toBe(1);
  expect(
    (await own.ask('tag.list-tags', { sort: 'name' })).map((tag: any) => [tag.name, tag.contacts]),
  ).toEqual([
    ['Donor', 1],
    ['Member', 1],
  ]);
  // They have signed, and can withdraw.
  expect(await sign(moved, survivor)).toMatchObject({ signatureId, signatures: 1 });
  const removed = await own.ask('petition.remove-signature', { ...moved, contactId: survivor });
  expect(removed).toMatchObject({ signatureId, signatures: 0 });
  await expectExact();
});

it('moves external ids and values of custom fields', async () => {
  await own.ask('field.create-field', { name: 'Shoe size', type: 'TEXT' });
  await own.ask('field.create-field', { name: 'Hat', type: 'TEXT' });
  const survivor = await create({ externalIds: ['crm:1'], customFields: { hat: 'Mine' } });
  const other = await create({ externalIds: ['crm:2'], customFields: { hat: 'Other', shoeSize: '39' } });
  const merged = await merge(survivor, other);
  expect(merged).toMatchObject({
    externalIds: ['crm:1', 'crm:2'],
    customFields: { hat: 'Mine', shoeSize: '39' },
  });
  expect((await own.ask('contact.get-contact', { externalId: 'crm:2' })).id).toBe(survivor);
  const taken = await own.send('contact.create-contact', { ...own.person(), externalIds: ['crm:2'] });
  expect(taken.body.error.reason).toBe('EXTERNAL_ID_TAKEN');
});

it('a merged id returns 404 with MERGED and mergedInto, and merging again changes nothing', async () => {
  const [survivor, other] = [await create(), await create()];
  await merge(survivor, other);
  for (const operation of [
    'contact.get-contact',
    'contact.update-contact',
    'contact.delete-contact',
    'contact.list-consents',
  ])
    expect(await own.send(operation, { contactId: other })).toMatchObject({
      status: 404,
      body: { error: { code: 'NOT_FOUND', reason: 'MERGED', mergedInto: survivor } },
    });
  const version = async () => (await own.ask('history.list-events', { recordId: survivor })).length;
  const before = await version();
  expect((await merge(survivor, other)).id).toBe(survivor);
  expect(await version()).toBe(before);
  // It can't be merged into another contact.
  const third = await create();
  const again = await own.send('contact.merge-contacts', { contactId: third, otherIds: [other] });
  expect(again).toMatchObject({ status: 404, body: { error: { reason: 'MERGED', mergedInto: survivor } } });
  // A chain leads on from one to the next.
  await merge(third, survivor);
  const error = (await own.send('contact.get-contact', { contactId: survivor })).body.error;
  expect(error.mergedInto).toBe(third);
});

it('rejects the contact itself, unknown and erased ones, and changes nothing', async () => {
  const [survivor, other, erased] = [await create(), await create(), await create()];
  await own.ask('contact.delete-contact', { contactId: erased });
  const send = (otherIds: unknown, contactId = survivor) =>
    own.send('contact.merge-contacts', { contactId, otherIds });
  expect((await send([survivor])).body.error.issues[0].path).toBe('otherIds');
  expect((await send([])).status).toBe(400);
  expect((await send(Array.from({ length: 11 }, () => NOBODY))).status).toBe(400);
  for (const id of [NOBODY, erased, 'nonsense']) {
    expect((await send([other, id])).status).toBe(404);
    expect((await send([other], id)).status).toBe(404);
  }
  expect((await own.send('contact.get-contact', { contactId: other })).status).toBe(200);
});

describe('consent: the strictest wins', () => {
  it('one unsubscribed contact unsubscribes the result, and its address is suppressed for imports', async () => {
    const survivor = await create();
    const no = own.person();
    const { contactId } = await own.ask('contact.create-contact', { ...no, subscribed: false });
    expect((await merge(survivor, contactId)).subscribed).toBe(false);
    const [suppression] = await own.ask('suppression.list-suppressions', { email: no.email });
    expect(suppression).toMatchObject({ reason: 'UNSUBSCRIBED', email: no.email });
    await expectExact();
  });

  it.each([
    ['UNSUBSCRIBED', false],
    ['COMPLAINED', false],
    ['MANUAL', false],
    ['BOUNCED', true],
  ])('an address suppressed as %s leaves the result subscribed: %s', async (reason, subscribed) => {
    const survivor = await create();
    const person = own.person();
    const { contactId } = await own.ask('contact.create-contact', person);
    await own.ask('suppression.create-suppression', { email: person.email, reason });
    expect((await merge(survivor, contactId)).subscribed).toBe(subscribed);
    expect(await own.ask('suppression.list-suppressions', { email: person.email })).toMatchObject([
      { reason },
    ]);
  });

  it('evidence moves with its time, text and source', async () => {
    const survivor = await create({ subscribed: true });
    const evidence = {
      source: 'Fair',
      text: 'Keep me informed',
      at: '2024-05-31T12:00:00.000Z',
      ip: '203.0.113.7',
    };
    const other = await create({ subscribed: true, consent: evidence });
    await merge(survivor, other);
    const { data } = (await whole(survivor)).consents;
    expect(data).toHaveLength(2);
    expect(data[0]).toMatchObject({ given: true, ...evidence });
  });

  it('the unsubscribe link of a merged contact unsubscribes the contact that is kept', async () => {
    const [survivor, other] = [await create(), await create()];
    await merge(survivor, other);
    const { keyring } = api.instances[0]!.runtime.store;
    const { organizationId } = own;
    const token = unsubscribeToken(keyring, { organizationId, contactId: other, broadcastId: NOBODY });
    const { status } = await own.client.request('POST', `/u/${token}`, 'List-Unsubscribe=One-Click', {
      'Content-Type': 'application/x-www-form-urlencoded',
    });
    expect(status).toBe(200);
    expect((await whole(survivor)).subscribed).toBe(false);
  });
});

describe('signatures', () => {
  it('a valid signature takes the place of an invalidated one', async () => {
    const petition = await own.a('petition');
    const [survivor, other] = [await create(), await create()];
    const { signatureId } = await sign(petition, survivor);
    await own.ask('petition.invalidate-signatures', { ...petition, signatureIds: [signatureId] });
    const valid = await sign(petition, other);
    await merge(survivor, other);
    expect(await countOf(petition)).toBe(1);
    const [signature] = await own.ask('petition.list-signatures', petition);
    expect(signature).toMatchObject({ id: valid.signatureId, contactId: survivor });
    await expectExact();
  });

  it('an invalidated signature moves too, and can be restored', async () => {
    const petition = await own.a('petition');
    const [survivor, other] = [await create(), await create()];
    const { signatureId } = await sign(petition, other);
    const fields = { ...petition, signatureIds: [signatureId] };
    const { invalidationId } = await own.ask('petition.invalidate-signatures', fields);
    await merge(survivor, other);
    expect(await countOf(petition)).toBe(0);
    await own.ask('petition.restore-signatures', { invalidationId });
    expect(await own.ask('petition.list-signatures', petition)).toMatchObject([
      { id: signatureId, contactId: survivor },
    ]);
    await expectExact();
  });
});

describe('erasure', () => {
  it('of the contact that is kept erases what the merged contacts contained', async () => {
    const survivor = await create();
    const person = { ...own.person(), bio: 'secret-biography' };
    const { contactId } = await own.ask('contact.create-contact', person);
    const former = `former-${person.email}`;
    await own.ask('contact.update-contact', { contactId, email: former });
    const petition = await own.a('petition');
    const { signatureId } = await sign(petition, contactId, { comment: 'secret-comment' });
    await merge(survivor, contactId);
    const events = async () => JSON.stringify(await own.ask('history.list-events', { recordId: survivor }));
    for (const text of [person.email, former, 'secret-biography']) expect(await events()).toContain(text);
    await own.ask('suppression.create-suppression', { email: person.email });
    await own.ask('contact.delete-contact', { contactId: survivor });
    const { organizationId } = own;
    const all = await own.ask('history.list-events', { organizationId, limit: '1000' });
    for (const text of [person.email, former, 'secret-biography', 'secret-comment'])
      expect(JSON.stringify(all)).not.toContain(text);
    expect(JSON.stringify(await own.ask('suppression.list-suppressions'))).not.toContain(person.email);
    expect(await own.ask('petition.list-signatures', petition)).toMatchObject([
      { id: signatureId, contactId: null, comment: null },
    ]);
    await expectExact();
  });

  it('the list of erasures contains a merged contact only once the other one is erased', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, () => create()));
    const [erased, withIt, kept, merged] = ids as [string, string, string, string];
    await merge(erased, withIt);
    await merge(kept, merged);
    await own.ask('contact.delete-contact', { contactId: erased });
    const { stdout } = await command(['--json', 'erasures', 'list'], {
      DATABASE_URL: api.database.url,
      ENCRYPTION_KEY: ENCRYPTION_KEY.toString('base64'),
    });
    const listed = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).contactId as string);
    expect(ids.filter((id) => listed.includes(id))).toEqual([erased, withIt]);
  });
});

/** Waits for some statements of the database, one after another. */
async function roundTrips(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await api.database.source.query('SELECT 1');
}

describe('races', () => {
  it('no signature and no member is lost or counted twice while contacts are merged', async () => {
    for (let round = 0; round < 6; round += 1) {
      const [survivor, other] = [await create(), await create()];
      const petition = await own.a('petition');
      const { listId } = await own.a('list');
      // Each round meets the merge at a later step.
      const later = roundTrips(round);
      const [merged] = await Promise.all([
        merge(survivor, other),
        later.then(() => own.send('petition.add-signature', { ...petition, contactId: other })),
        later.then(() => own.send('list.add-contacts', { listId, contactIds: [other] })),
        own.send('petition.add-signature', { ...petition, contactId: survivor }),
      ]);
      expect(merged.id).toBe(survivor);
      const { signatures, lists } = await whole(survivor);
      expect(signatures.data).toHaveLength(1);
      expect(await countOf(petition)).toBe(1);
      expect((await own.ask('list.get-list', { listId })).contacts).toBe(lists.data.length);
    }
    await expectExact();
  });

  it('what a duplicate signs and joins after the merge was decided moves too', async () => {
    const [survivor, other, third] = [await create(), await create(), await create()];
    const [petition, both] = [await own.a('petition'), await own.a('petition')];
    const { listId } = await own.a('list');
    await sign(both, survivor);
    const { store } = api.instances[0]!.runtime;
    const original = store.append.bind(store);
    const append = jest.spyOn(store, 'append');
    let isDecided = false;
    append.mockImplementation(async (asked) => {
      const merges = asked.writes.some(({ events }) => events.some(({ type }) => type === 'ContactMerged'));
      if (merges && !isDecided) {
        isDecided = true;
        await sign(petition, other, { comment: 'Too late' });
        await sign(both, other);
        await own.ask('list.add-contacts', { listId, contactIds: [other, third] });
      }
      return original(asked);
    });
    await merge(survivor, other).finally(() => append.mockRestore());
    expect(isDecided).toBe(true);
    const { signatures, lists } = await whole(survivor);
    expect(signatures.data.map((one: any) => one.petitionId).sort()).toEqual(
      [petition.petitionId, both.petitionId].sort(),
    );
    expect([await countOf(petition), await countOf(both)]).toEqual([1, 1]);
    expect([lists.data.length, (await own.ask('list.get-list', { listId })).contacts]).toEqual([1, 2]);
    await expectExact();
  });

  it('a signature of a duplicate that is withdrawn while the merge is decided is not moved', async () => {
    const [survivor, other] = [await create(), await create()];
    const petition = await own.a('petition');
    const { signatureId } = await sign(petition, other);
    await sign(petition, await create());
    const { store } = api.instances[0]!.runtime;
    const original = store.append.bind(store);
    const append = jest.spyOn(store, 'append');
    const reader = api.instances[0]!.app.get(RecordReader, { strict: false });
    const originalLoad = reader.load.bind(reader);
    const load = jest.spyOn(reader, 'load');
    let attempts = 0;
    append.mockImplementation(async (asked) => {
      const merges = asked.writes.some(({ events }) => events.some(({ type }) => type === 'ContactMerged'));
      // The first attempt fails. The second one finds the signature withdrawn after it has listed the signatures.
      if (merges && (attempts += 1) === 1) {
        await own.ask('contact.update-contact', { contactId: other, city: 'Rome' });
        load.mockImplementation(async (...given) => {
          if (given[0].streamType === 'signature') {
            load.mockRestore();
            await own.ask('petition.remove-signature', { ...petition, contactId: other });
          }
          return originalLoad(...given);
        });
      }
      return original(asked);
    });
    await merge(survivor, other).finally(() => append.mockRestore());
    expect(attempts).toBe(2);
    const history = await own.client.get('event.list-events', { recordId: signatureId });
    expect(history.body.data.map((event: any) => event.type)).toEqual([
      'PetitionSigned',
      'SignatureWithdrawn',
    ]);
    expect((await whole(survivor)).signatures.data).toEqual([]);
    expect(await countOf(petition)).toBe(1);
    await expectExact();
  });

  it('with an erasure of either: the merged person is erased, or was not merged', async () => {
    for (let round = 0; round < 6; round += 1) {
      const [survivor, other] = [await create(), await create()];
      const contactId = round % 2 === 0 ? survivor : other;
      const [merged, erased] = await Promise.all([
        own.send('contact.merge-contacts', { contactId: survivor, otherIds: [other] }),
        own.send('contact.delete-contact', { contactId }),
      ]);
      expect([200, 404]).toContain(merged.status);
      expect([200, 404]).toContain(erased.status);
      const status = async (id: string) => (await own.send('contact.get-contact', { contactId: id })).status;
      const found = [await status(survivor), await status(other)];
      if (merged.status === 404) expect(found).toEqual(contactId === survivor ? [404, 200] : [200, 404]);
      else expect(found).toEqual([erased.status === 200 ? 404 : 200, 404]);
    }
    await expectExact();
  });
});

describe('list-duplicates', () => {
  const pairs = async (query: Record<string, string> = {}) => {
    const { status, body } = await own.send('contact.list-duplicates', query);
    expect([status, body.object, body.error]).toEqual([200, 'duplicates', undefined]);
    return body;
  };
  const ids = (data: { contacts: { id: string }[] }[]) =>
    data.map(({ contacts }) => contacts.map(({ id }) => id));

  it('proposes contacts with the same name and postcode, phone number or mailbox', async () => {
    const ada = { firstName: 'Ada', lastName: 'Lovelace', zip: 'SW1 4', phone: '+44 20 7946 0018' };
    const first = await create(ada);
    const second = await create({
      ...ada,
      firstName: 'ADA',
      zip: 'sw14',
      phone: null,
      mobile: '020 79460018',
    });
    const third = await create({ ...ada, phone: null });
    const grace = await create({ email: 'grace+news@example.org', lastName: 'Hopper', phone: '123' });
    const other = await create({ email: 'grace@example.org', lastName: 'Hopper', phone: '123' });
    await create({ firstName: 'Ada', lastName: 'Lovelace' });

    const { data, pagination } = await pairs();
    expect(pagination).toEqual({ cursor: null, hasMore: false });
    expect(data.map(({ reasons }: { reasons: string[] }) => reasons)).toEqual([
      ['NAME_AND_ZIP', 'PHONE'],
      ['NAME_AND_ZIP'],
      ['EMAIL'],
    ]);
    expect(ids(data)).toEqual([
      [first, second],
      [second, third],
      [grace, other],
    ]);
    expect(data[0].contacts[0]).toEqual(await own.ask('contact.get-contact', { contactId: first }));

    const listed = [];
    let cursor: string | null | undefined;
    do {
      const page = await pairs({ limit: '1', ...(cursor ? { cursor } : {}) });
      listed.push(...page.data);
      ({ cursor } = page.pagination);
    } while (cursor && listed.length < 10);
    expect(listed).toEqual(data);

    await merge(first, second);
    expect(ids((await pairs()).data)).toEqual([
      [first, third],
      [grace, other],
    ]);
    await own.ask('contact.update-contact', { contactId: third, lastName: 'Byron' });
    await own.ask('contact.delete-contact', { contactId: other });
    expect((await pairs()).data).toEqual([]);
    await expectExact();
  });

  it('shows only contacts of the own organization', async () => {
    const ada = { firstName: 'Ada', lastName: 'Lovelace', zip: '1' };
    await create(ada);
    own = new Fixture(api, await api.organization());
    await create(ada);
    expect((await pairs()).data).toEqual([]);
  });

  const written = (place: unknown) => Buffer.from(JSON.stringify(place)).toString('base64url');
  it.each([
    'no',
    written(null),
    written(['NAME_AND_ZIP', '9999999999999999999', NOBODY]),
    written(['PHONE', '3000000000', NOBODY]),
    written(['EMAIL', 'a\u0000', NOBODY]),
    written(['EMAIL', '', 'me']),
    written(['CITY', '1', NOBODY]),
  ])('returns 400 for the cursor %s', async (cursor) => {
    const refused = await own.send('contact.list-duplicates', { cursor });
    expect(refused).toMatchObject({ status: 400, body: { error: { issues: [{ path: 'cursor' }] } } });
  });
});
