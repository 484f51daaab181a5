import { v7 as uuidv7 } from 'uuid';
import { type DataSource } from 'typeorm';
import { RecordReader } from '#libs/commands';
import { type Sql } from '#libs/database';
import { type Condition, findRows, type ListedTable } from '#libs/projections';
import { Resources } from '#libs/resources';
import { contactParts, ContactsByIds, type PartReads } from '../src/contacts/index.js';
import { lists } from '../src/lists/index.js';
import {
  petitions,
  PublicComments,
  SIGNATURES_BY_COMMENT,
  SIGNATURES_OF_CONTACT,
} from '../src/petitions/index.js';
import { tags } from '../src/tags/index.js';
import { Fixture } from './fixture.js';
import { Api, NOBODY } from './harness.js';
import { longIt } from './length.js';

/** What belongs to one contact: tags, lists, signatures, consents. */
let api: Api;
let own: Fixture;
beforeAll(async () => {
  api = await Api.start();
});
afterAll(() => api.stop());
beforeEach(async () => {
  own = new Fixture(api, await api.organization());
});

const contact = async () => (await own.a('contact')).contactId!;
const ids = (records: { id: string }[]) => records.map(({ id }) => id);

/** A contact with two tags, a list and two signatures, one of them invalidated. Another contact has others. */
async function related() {
  const [contactId, other] = [await contact(), await contact()];
  const [donor, patron, foreign] = await Promise.all([own.a('tag'), own.a('tag'), own.a('tag')]);
  const { listId } = await own.a('list');
  for (const { tagId } of [donor, patron])
    await own.ask('tag.add-contacts', { tagId, contactIds: [contactId] });
  await own.ask('tag.add-contacts', { tagId: foreign.tagId, contactIds: [other] });
  await own.ask('list.add-contacts', { listId, contactIds: [contactId, other] });
  const [one, two] = [await own.a('petition'), await own.a('petition')];
  const sign = (petition: object, more: object) =>
    own.ask('petition.add-signature', { ...petition, ...more });
  await sign(one, { contactId: other });
  const { signatureId } = await sign(one, { contactId, comment: 'Save the river' });
  const second = await sign(two, { contactId });
  await own.ask('petition.invalidate-signatures', { ...two, signatureIds: [second.signatureId] });
  return {
    contactId,
    tagIds: [donor.tagId!, patron.tagId!].sort(),
    listId: listId!,
    petitionId: one.petitionId!,
    signatureId: signatureId as string,
    invalidated: second.signatureId as string,
  };
}

it('get-contact includes tags, lists, signatures and consents on request, and nothing else', async () => {
  const { contactId, tagIds, listId, petitionId, signatureId } = await related();
  const plain = await own.ask('contact.get-contact', { contactId });
  const whole = await own.ask('contact.get-contact', {
    contactId,
    include: 'tags,lists,signatures,consents',
  });
  const { tags: hasTags, lists: isOn, signatures, consents, ...rest } = whole;
  expect(rest).toEqual(plain);
  expect([ids(hasTags.data).sort(), hasTags.hasMore]).toEqual([tagIds, false]);
  expect(isOn).toMatchObject({ data: [{ id: listId, contacts: 2 }], hasMore: false });
  expect(signatures).toMatchObject({ data: [{ id: signatureId, petitionId, contactId }], hasMore: false });
  expect(signatures.data[0].comment).toBe('Save the river');
  expect(consents).toMatchObject({ data: [{ given: true }], hasMore: false });

  const asOf = { contactId, asOf: new Date().toISOString(), include: 'tags' };
  for (const fields of [{ contactId, include: 'friends' }, { contactId, include: '' }, asOf])
    expect(await own.send('contact.get-contact', fields)).toMatchObject({
      status: 400,
      body: { error: { issues: [{ path: 'include' }] } },
    });
});

longIt('get-contact includes at most 100 records of a kind, and shows that there are more', async () => {
  const contactId = await contact();
  const tagIds: string[] = [];
  for (let n = 0; n < 101; n += 1) tagIds.push((await own.ask('tag.create-tag', { name: `Tag ${n}` })).tagId);
  await Promise.all(tagIds.map((tagId) => own.ask('tag.add-contacts', { tagId, contactIds: [contactId] })));
  const { tags: included } = await own.ask('contact.get-contact', { contactId, include: 'tags' });
  expect([included.data.length, included.hasMore]).toEqual([100, true]);
  expect(included.data[0].id).toBe(tagIds.at(-1));
});

it('list-tags, list-lists and list-signatures with contactId return only what belongs to the contact', async () => {
  const { contactId, tagIds, listId, petitionId, signatureId, invalidated } = await related();
  const list = async (operation: string, more: object = {}) =>
    ids(await own.ask(operation, { contactId, ...more })).sort();
  expect(await list('tag.list-tags')).toEqual(tagIds);
  expect(await list('list.list-lists')).toEqual([listId]);
  expect(await list('petition.list-signatures')).toEqual([signatureId]);
  expect(await list('petition.list-signatures', { status: 'INVALIDATED' })).toEqual([invalidated]);
  expect(await list('petition.list-signatures', { status: 'PENDING' })).toEqual([]);
  expect(await list('petition.list-signatures', { petitionId })).toEqual([signatureId]);
  const first = await own.send('tag.list-tags', { contactId, limit: '1' });
  expect(first.body.pagination.hasMore).toBe(true);
  const rest = await own.send('tag.list-tags', { contactId, cursor: first.body.pagination.cursor });
  expect(ids([...first.body.data, ...rest.body.data]).sort()).toEqual(tagIds);

  await own.ask('tag.remove-contacts', { tagId: tagIds[0], contactIds: [contactId] });
  expect(await list('tag.list-tags')).toEqual([tagIds[1]]);
  for (const operation of ['tag.list-tags', 'list.list-lists', 'petition.list-signatures'])
    expect((await own.send(operation, { contactId: NOBODY })).status).toBe(404);
  expect(await own.send('petition.list-signatures')).toMatchObject({
    status: 400,
    body: { error: { issues: [{ path: 'petitionId' }] } },
  });
});

describe('tags and listIds of a command', () => {
  const namesOf = async (contactId: string) => {
    const { tags: has, lists: on } = await own.ask('contact.get-contact', {
      contactId,
      include: 'tags,lists',
    });
    const names = (part: { data: { name: string }[] }) => part.data.map(({ name }) => name).sort();
    return [names(has), names(on)];
  };
  const tagNames = async () =>
    (await own.ask('tag.list-tags', { sort: 'name' })).map(({ name }: { name: string }) => name);

  it('create-contact, update-contact and add-signature add the contact, and create missing tags', async () => {
    const { listId } = await own.a('list');
    const { name: list } = await own.ask('list.get-list', { listId });
    await own.ask('tag.create-tag', { name: 'Café' });
    // Composed differently, and in another case.
    const created = { ...own.person(), tags: ['CAFE\u0301', 'Donor', 'donor'], listIds: [listId] };
    const { contactId } = await own.ask('contact.create-contact', created);
    expect(await namesOf(contactId)).toEqual([['Café', 'Donor'], [list]]);
    await own.ask('contact.update-contact', {
      contactId,
      city: 'Lyon',
      tags: ['Member', 'donor'],
      listIds: [],
    });
    expect(await namesOf(contactId)).toEqual([['Café', 'Donor', 'Member'], [list]]);
    expect(await tagNames()).toEqual(['Café', 'Donor', 'Member']);

    const petition = await own.a('petition');
    const contact = own.person();
    const signed = { ...petition, contact, tags: ['Signer'], listIds: [listId] };
    const first = await own.ask('petition.add-signature', signed);
    expect(await namesOf(first.contactId)).toEqual([['Signer'], [list]]);
    // Signing again returns the same signature, and adds other tags.
    const again = await own.ask('petition.add-signature', { ...signed, tags: ['Twice'], listIds: [] });
    expect(again.signatureId).toBe(first.signatureId);
    await own.ask('petition.add-signature', { ...petition, contactId, tags: ['Signer'] });
    expect(await namesOf(first.contactId)).toEqual([['Signer', 'Twice'], [list]]);
    expect((await namesOf(contactId))[0]).toContain('Signer');
    expect(await own.ask('list.get-list', { listId })).toMatchObject({ contacts: 2 });
  });

  it('create-contact with onConflict update adds an existing contact', async () => {
    const person = own.person();
    const { contactId } = await own.ask('contact.create-contact', person);
    const fields = { email: person.email, onConflict: 'update', tags: ['Donor'] };
    expect((await own.ask('contact.create-contact', fields)).contactId).toBe(contactId);
    expect(await namesOf(contactId)).toEqual([['Donor'], []]);
  });

  it('are added together with the command or not at all', async () => {
    const person = own.person();
    await own.ask('contact.create-contact', person);
    const taken = await own.send('contact.create-contact', { ...person, city: 'Rome', tags: ['Donor'] });
    expect(taken.status).toBe(409);
    for (const listIds of [[NOBODY], ['nonsense']]) {
      const { status, body } = await own.send('contact.create-contact', {
        ...own.person(),
        tags: ['A'],
        listIds,
      });
      expect([status, body.error.message]).toEqual([404, expect.stringContaining(listIds[0]!)]);
    }
    expect(await tagNames()).toEqual([]);
    const { pagination } = (await own.send('contact.list-contacts', { limit: '1' })).body;
    expect(pagination.hasMore).toBe(false);
  });

  it('fifty concurrent commands create a missing tag once, and a renamed tag keeps its members', async () => {
    const sent = Array.from({ length: 50 }, () => ({ ...own.person(), tags: ['Donor'] }));
    await Promise.all(sent.map((fields) => own.ask('contact.create-contact', fields)));
    const [tag, ...others] = await own.ask('tag.list-tags');
    expect([tag.name, tag.contacts, others]).toEqual(['Donor', 50, []]);
    await own.ask('tag.update-tag', { tagId: tag.id, name: 'Patron' });
    await own.ask('contact.create-contact', { ...own.person(), tags: ['Donor'] });
    const after = await own.ask('tag.list-tags', { sort: 'name' });
    expect(after.map((one: any) => [one.name, one.contacts])).toEqual([
      ['Donor', 1],
      ['Patron', 50],
    ]);
    await own.ask('tag.delete-tag', { tagId: after[0].id });
    await own.ask('contact.create-contact', { ...own.person(), tags: ['donor'] });
    expect(await tagNames()).toEqual(['Patron', 'donor']);
  });

  it('are checked: names, ids and their number', async () => {
    for (const [path, fields] of [
      ['tags', { tags: [7] }],
      ['tags', { tags: [''] }],
      ['tags', { tags: ['x'.repeat(101)] }],
      ['tags', { tags: Array.from({ length: 51 }, (_, n) => `Tag ${n}`) }],
      ['listIds', { listIds: 'nothing' }],
    ] as const)
      expect(await own.send('contact.create-contact', { ...own.person(), ...fields })).toMatchObject({
        status: 400,
        body: { error: { issues: [{ path }] } },
      });
  });
});

type Plan = { 'Index Name'?: string; 'Actual Rows': number; 'Actual Loops': number; Plans?: Plan[] };
const steps = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(steps)];

/** Runs statements and adds their plans. */
const watched = (source: Sql, plans: Plan[]): Sql => ({
  async query(text: string, values?: unknown[]) {
    const [row] = await source.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
    plans.push(row['QUERY PLAN'][0].Plan as Plan);
    return source.query(text, values);
  },
});

it('lists of what belongs to a contact use the index by contact, beside 5,000 links of others', async () => {
  const { source } = api.instances[0]!.runtime;
  const { contactId } = await related();
  const { organizationId } = own;
  const resources = api.instances[0]!.app.get(Resources);
  for (const { linkTable } of [tags, lists, petitions]) {
    await source.query(
      `INSERT INTO ${linkTable} (organization_id, id, record_id, subject_id, created_at, created_position)
       SELECT $1, gen_random_uuid(), $2, gen_random_uuid(), now(), n FROM generate_series(1, 5000) n`,
      [organizationId, uuidv7()],
    );
    await source.query(`ANALYZE ${linkTable}`);
  }
  const plans: Plan[] = [];
  const watching = watched(source, plans);
  const pages: [index: string, table: ListedTable, condition?: Condition][] = [
    ['taggings_by_subject', tags.page(), resources.linkedFrom(tags, contactId)],
    ['members_by_subject', lists.page(), resources.linkedFrom(lists, contactId)],
    ['signatures_by_subject', SIGNATURES_OF_CONTACT.CONFIRMED],
    ['signatures_by_subject', SIGNATURES_OF_CONTACT.INVALIDATED],
  ];
  for (const [index, table, condition] of pages) {
    const listing = { organizationId, limit: 100, sort: '-createdAt', within: contactId };
    await findRows(watching, listing, table, { conditions: [condition] });
    const used = steps(plans.at(-1)!);
    expect(used.map((step) => step['Index Name'])).toContain(index);
    expect(Math.max(...used.map((step) => step['Actual Rows'] * step['Actual Loops']))).toBeLessThan(20);
  }
});

it('deliveries to a contact are included newest first, found by indexes beside those of other contacts and organizations', async () => {
  const { source } = api.instances[0]!.runtime;
  const { contactId } = (await own.a('contact')) as { contactId: string };
  const { organizationId } = own;
  const include = () =>
    own.ask('contact.get-contact', { contactId, include: 'deliveries' }).then(({ deliveries }) => deliveries);
  expect(await include()).toEqual({ data: [], hasMore: false });
  const sendings = (number: number, of: string) =>
    source.query<{ id: string; broadcast_id: string }[]>(
      `INSERT INTO broadcast_sendings (id, organization_id, broadcast_id)
       SELECT ('01990000-0000-7000-8000-' || to_hex(n + $3)::text || lpad(to_hex(n), 6, '0'))::uuid, $1, gen_random_uuid()
       FROM generate_series(1, $2::int) n RETURNING id, broadcast_id`,
      [of, number, 0x100000 + (of === organizationId ? 0x100000 : 0)],
    );
  await sendings(3_000, uuidv7());
  const mine = await sendings(103, organizationId);
  await source.query(
    `INSERT INTO broadcast_recipients (sending_id, contact_id, status, at, bounced_at)
     SELECT id, $2, 'SENT', now(), CASE WHEN n = 103 THEN now() END
     FROM unnest($1::uuid[]) WITH ORDINALITY AS s(id, n) WHERE n > 2
     UNION ALL SELECT id, gen_random_uuid(), 'SENT', now(), NULL FROM unnest($1::uuid[]) AS id, generate_series(1, 50)`,
    [mine.map(({ id }) => id), contactId],
  );
  await source.query('ANALYZE broadcast_sendings, broadcast_recipients');
  const { data, hasMore } = await include();
  expect([data.length, hasMore]).toEqual([100, true]);
  expect(data.map(({ broadcastId }: { broadcastId: string }) => broadcastId)).toEqual(
    mine
      .slice(3)
      .map(({ broadcast_id }) => broadcast_id)
      .toReversed(),
  );
  expect(data[0]).toMatchObject({ status: 'SENT', bouncedAt: expect.any(String), complainedAt: null });
  const exported = (await own.send('contact.export-person', { contactId })).body;
  expect(exported.deliveries).toHaveLength(101);

  const plans: Plan[] = [];
  const watching = watched(source, plans);
  const reads = { query: watching.query } as unknown as PartReads['reads'];
  const query = { organizationId, contactId, limit: 5 };
  await contactParts()
    .get('deliveries')!
    .page({ reads } as unknown as PartReads, query);
  const all = plans.flatMap(steps);
  expect(all.flatMap((step) => step['Index Name'] ?? [])).toContain('broadcast_sendings_of_organization');
  expect(Math.max(...all.map((step) => step['Actual Rows'] * step['Actual Loops']))).toBeLessThan(10);
});

it('comments are found by their state, among 10,000 of the petition', async () => {
  const { source, store } = api.instances[0]!.runtime;
  const { petitionId } = await own.a('petition');
  const { organizationId } = own;
  await source.query(
    `INSERT INTO ${petitions.linkTable!}
       (organization_id, id, record_id, subject_id, created_at, created_position, detail, comment_state)
     SELECT $1, gen_random_uuid(), $2, gen_random_uuid(), now() + n * interval '1 ms', n, 'x',
       CASE WHEN n < 5 OR n > 9990 THEN 'SHOWN' WHEN n < 5000 THEN 'WAITING' ELSE 'HIDDEN' END
     FROM generate_series(1, 10000) n`,
    [organizationId, petitionId],
  );
  await source.query(`ANALYZE ${petitions.linkTable!}`);
  const plans: Plan[] = [];
  const watching = watched(source, plans);
  const contacts = api.instances[0]!.app.get(ContactsByIds, { strict: false });
  const comments = new PublicComments(watching as DataSource, store, contacts);
  await comments.newest(organizationId, petitionId!, 'SHOWN', 10);
  await comments.newest(organizationId, petitionId!, 'APPROVED', 10);
  expect(await comments.waiting(organizationId, [petitionId!], 100)).toEqual(new Map([[petitionId, 100]]));
  for (const sort of ['createdAt', '-createdAt']) {
    const listing = { organizationId, limit: 100, sort, within: petitionId! };
    await findRows(watching, listing, SIGNATURES_BY_COMMENT.WAITING);
  }
  for (const plan of plans) {
    const used = steps(plan);
    expect(used.map((step) => step['Index Name'])).toContain('signatures_public_comments');
    expect(Math.max(...used.map((step) => step['Actual Rows'] * step['Actual Loops']))).toBeLessThan(110);
  }
  expect(plans).toHaveLength(5);
});

describe('a link that two requests end', () => {
  const signed = async () => {
    const [contactId, petition] = [await contact(), await own.a('petition')];
    const { signatureId } = await own.ask('petition.add-signature', { ...petition, contactId });
    return { petitionId: petition.petitionId!, contactId, signatureId: signatureId as string };
  };
  const count = async (petitionId: string) =>
    (await own.ask('petition.get-petition', { petitionId })).signatures;
  const withdraw = (one: { petitionId: string; contactId: string }) =>
    own.ask('petition.remove-signature', { petitionId: one.petitionId, contactId: one.contactId });
  const typesOf = async (recordId: string) =>
    (await own.client.get('event.list-events', { recordId })).body.data.map((event: any) => event.type);

  it('ends once if the second request found it before the first ended it', async () => {
    const one = await signed();
    const { store } = api.instances[0]!.runtime;
    const original = store.append.bind(store);
    const append = jest.spyOn(store, 'append');
    const reader = api.instances[0]!.app.get(RecordReader, { strict: false });
    const originalLoad = reader.load.bind(reader);
    const load = jest.spyOn(reader, 'load');
    let again: any;
    // The first attempt fails, because the contact withdraws and signs again.
    append.mockImplementationOnce(async (asked) => {
      append.mockRestore();
      await withdraw(one);
      again = await own.ask('petition.add-signature', {
        petitionId: one.petitionId,
        contactId: one.contactId,
      });
      // The second attempt has found the new signature when that is withdrawn.
      load.mockImplementation(async (...given) => {
        if (given[0].streamType === 'signature') {
          load.mockRestore();
          await withdraw(one);
        }
        return originalLoad(...given);
      });
      return original(asked);
    });
    const answer = await withdraw(one);
    expect(answer).toMatchObject({ signatureId: again.signatureId, signatures: 0 });
    expect(await typesOf(again.signatureId)).toEqual(['PetitionSigned', 'SignatureWithdrawn']);
    expect(await count(one.petitionId)).toBe(0);
  });

  it('is subtracted once if the history ends it twice', async () => {
    const { petitionId, contactId, signatureId } = await signed();
    const { listId } = await own.a('list');
    await own.ask('list.add-contacts', { listId, contactIds: [contactId] });
    await own.ask('petition.add-signature', { petitionId, contactId: await contact() });
    const { runtime } = api.instances[0]!;
    const [{ id: memberId }] = await api.database.source.query(
      `SELECT id FROM ${lists.linkTable} WHERE organization_id = $1 AND subject_id = $2`,
      [own.organizationId, contactId],
    );
    const twice = [
      petitions.link!.end(signatureId, petitionId, contactId).write,
      lists.link!.end(memberId, listId!, contactId).write,
    ].map((write) => ({ ...write, events: [...write.events, ...write.events] }));
    await runtime.store.append({
      organizationId: own.organizationId,
      metadata: { actor: { type: 'system', id: 'test' }, requestId: 'test' },
      writes: twice,
    });
    await runtime.projections.catchUpWithLog();
    expect(await count(petitionId)).toBe(1);
    expect((await own.ask('list.get-list', { listId })).contacts).toBe(0);
    // A rebuild reads both ends, and the beginning, in one page.
    await runtime.projections.maintenance.rebuild('petitions');
    expect(await count(petitionId)).toBe(1);
  });
});
