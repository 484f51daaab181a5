import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  audienceFields,
  digestOfRecipients,
  findAlteredRecipients,
  momentOfSending,
} from '../src/broadcasts/index.js';
import { contact, type Filter, kindsOfContacts, matchesFilter } from '../src/contacts/index.js';
import '../src/modules.js';
import { type Answer, Api, Client, ISO, NOBODY } from './harness.js';
import { longIt, someOf } from './length.js';
import { eventually } from './processes.js';
import { comeDue } from './timers.js';

let api: Api;
let client: Client;
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'advocacy-mail-'));
  api = await Api.start({ instances: 2, environment: { DATA_DIR: directory } });
  api.startWorkers();
});
afterAll(async () => {
  await api.stop();
  await rm(directory, { recursive: true, force: true });
});
beforeEach(async () => {
  client = await api.organization();
  const sender = { mailFrom: { name: 'Rivers', address: `${client.organizationId}@example.org` } };
  const { status } = await client.post('organization.update-organization', {
    ...sender,
    postalAddress: '1 Quay\nHarbour',
  });
  expect(status).toBe(200);
});

const call = async (operation: string, input: object = {}) => {
  const { status, body } = await client.post(`broadcast.${operation}`, input);
  expect([operation, status, body.error]).toEqual([operation, 200, undefined]);
  return body.data;
};
async function create(fields: object = {}): Promise<string> {
  const { broadcastId } = await call('create-broadcast', { name: 'May', content: 'Hello', ...fields });
  return broadcastId;
}
async function person(email: string, fields: object = {}): Promise<string> {
  const { organizationId } = client;
  const { body } = await client.post('contact.create-contact', { organizationId, email, ...fields });
  return body.data.contactId;
}
async function list(contactIds: string[], name = 'Everybody'): Promise<string> {
  const { listId } = (await client.post('list.create-list', { name })).body.data;
  await client.post('list.add-contacts', { listId, contactIds });
  return listId;
}
async function tag(contactIds: string[], name: string): Promise<string> {
  const { tagId } = (await client.post('tag.create-tag', { name })).body.data;
  await client.post('tag.add-contacts', { tagId, contactIds });
  return tagId;
}
const get = async (broadcastId: string, more = {}) =>
  (await client.get('broadcast.get-broadcast', { broadcastId, ...more })).body.data;
const audience = async (broadcastId: string) =>
  (await client.get('broadcast.preview-audience', { broadcastId })).body.data;
const recipients = async (broadcastId: string, more = {}) =>
  (await client.get('broadcast.list-recipients', { broadcastId, ...more })).body.data;
/** The complete messages that this organization has sent. */
async function mails(): Promise<string[]> {
  const folder = join(directory, 'mail', client.organizationId);
  const names = await readdir(folder).catch(() => []);
  return Promise.all(
    names.filter((name) => name.endsWith('.eml')).map((name) => readFile(join(folder, name), 'utf8')),
  );
}
const headerOf = (mail: string, name: string) =>
  new RegExp(`^${name}:(.*(?:\r?\n[ \t].*)*)`, 'im')
    .exec(mail)?.[1]
    ?.replace(/\r?\n(?=[ \t])/g, '')
    .trim();
const sent = (broadcastId: string) =>
  eventually(async () => expect((await get(broadcastId)).status).toBe('SENT'));

it('create-broadcast returns 200 with the id, the same for the same body, and get-broadcast returns every field', async () => {
  const { broadcastId } = await call('create-broadcast', { name: ' May ' });
  const record = {
    id: broadcastId,
    createdAt: expect.stringMatching(ISO),
    updatedAt: expect.stringMatching(ISO),
    version: 1,
    name: 'May',
    subject: 'May',
    preheader: null,
    content: '',
    format: 'MARKDOWN',
    audience: {},
    status: 'DRAFT',
    sendAt: null,
    startedAt: null,
    finishedAt: null,
    recipients: null,
    countClicks: false,
    clicks: null,
    organizationId: client.organizationId,
  };
  expect(await get(broadcastId)).toEqual(record);
  expect((await call('create-broadcast', { name: 'May' })).broadcastId).toBe(broadcastId);
  const [listed] = (await client.get('broadcast.list-broadcasts', { status: 'DRAFT', q: 'ma' })).body.data;
  const { content: _, ...withoutContent } = record;
  expect(listed).toEqual(withoutContent);
  const changed = await call('update-broadcast', {
    broadcastId,
    subject: 'News',
    audience: { contactIds: [NOBODY] },
  });
  expect(changed).toEqual({ ...record, version: 2, subject: 'News', audience: { contactIds: [NOBODY] } });
  expect(await call('create-broadcast', { name: 'May' })).toEqual({ broadcastId });
});

it.each([
  ['no name', { name: undefined }, 'name'],
  ['a subject of 201 characters', { subject: 'x'.repeat(201) }, 'subject'],
  ['an unknown format', { format: 'PDF' }, 'format'],
  ['an unknown kind of audience', { audience: { everybody: true } }, 'audience.everybody'],
  ['an empty listIds', { audience: { listIds: [] } }, 'audience.listIds'],
  [
    '1,001 contacts',
    { audience: { contactIds: Array.from({ length: 1_001 }, () => NOBODY) } },
    'audience.contactIds',
  ],
  ['content beyond 256 KiB', { content: 'x'.repeat(256 * 1024 + 1) }, 'content'],
])('create-broadcast returns 400 for %s', async (_, fields, path) => {
  const { status, body } = await client.post('broadcast.create-broadcast', { name: 'A', ...fields });
  expect([status, body.error.issues?.[0].path]).toEqual([400, path]);
});

it('duplicate-broadcast returns 200 with the id of a draft like the original, sent or not, with an audience of deleted lists', async () => {
  const ask = async (operation: string, body: object) => (await client.post(operation, body)).body.data;
  const { listId } = await ask('list.create-list', { name: 'Friends' });
  const fields = {
    subject: 'Ω',
    preheader: 'May',
    content: '<p>Hello</p>',
    format: 'HTML',
    audience: { listIds: [listId] },
  };
  const original = await ask('broadcast.create-broadcast', { name: 'Original', ...fields });
  await client.delete('list.delete-list', { listId });
  await ask('broadcast.cancel-broadcast', original);
  const body = { ...original, name: 'Copy' };
  const copy = await ask('broadcast.duplicate-broadcast', body);
  expect(await ask('broadcast.duplicate-broadcast', body)).toEqual(copy);
  const { data } = (await client.get('broadcast.get-broadcast', copy)).body;
  expect(data).toMatchObject({ ...fields, name: 'Copy', status: 'DRAFT', finishedAt: null });
  await client.delete('broadcast.delete-broadcast', original);
  expect((await client.post('broadcast.duplicate-broadcast', { ...body, name: 'Late' })).status).toBe(404);
});

it('create-broadcast takes what is not given from another broadcast, but not its audience', async () => {
  const words = { preheader: 'Shortly', content: '<b>Hello</b>', format: 'HTML' };
  const from = await create({ ...words, subject: 'Dear you', audience: { all: true } });
  const given = { name: 'June', subject: 'Hi', fromBroadcastId: from };
  const keyed = () => client.post('broadcast.create-broadcast', given, { 'Idempotency-Key': from });
  const copy = (await keyed()).body.data;
  expect(await get(copy.broadcastId)).toMatchObject({ ...words, name: 'June', subject: 'Hi', audience: {} });
  await client.delete('broadcast.delete-broadcast', { broadcastId: from });
  expect((await keyed()).body.data).toEqual(copy);
  expect((await client.post('broadcast.create-broadcast', { ...given, name: 'July' })).status).toBe(404);
});

it('create-broadcast returns 404 for an unknown record of an audience, and 403 without the scope to read it', async () => {
  const parts = kindsOfContacts().flatMap(({ object }) => Object.values(audienceFields(object)));
  expect(parts).toEqual(expect.arrayContaining(['listIds', 'petitionIds', 'excludeTagIds']));
  for (const part of parts) {
    const { status } = await client.post('broadcast.create-broadcast', {
      name: part,
      audience: { [part]: [NOBODY] },
    });
    expect([part, status]).toEqual([part, 404]);
  }
  const listId = await list([]);
  const { key } = await api.createKey(client.organizationId, { scopes: ['broadcast:write', 'contact:read'] });
  const other = Object.assign(Object.create(Object.getPrototypeOf(client)), client, { key }) as Client;
  const { status } = await other.post('broadcast.create-broadcast', {
    name: 'x',
    audience: { listIds: [listId] },
  });
  expect(status).toBe(403);
});

it('preview-audience counts the union of all parts without exclusions, and each excluded contact under its first reason', async () => {
  const [ada, bob, cem, dot, eve, fay] = await Promise.all([
    person('ada@example.org', { city: 'Ulm' }),
    person('bob@example.org', { city: 'Ulm' }),
    person('cem@example.org', { city: 'Ulm', subscribed: false }),
    person('dot@example.org', { city: 'Bonn' }),
    person('eve@example.org', { city: 'Ulm' }),
    person('fay@example.org', { city: 'Ulm' }),
  ]);
  const listId = await list([ada, bob, cem, dot], 'A');
  const without = await list([bob], 'B');
  await client.post('suppression.create-suppression', { email: 'EVE@example.org' });
  await client.delete('contact.delete-contact', { contactId: fay });
  const broadcastId = await create({
    audience: {
      listIds: [listId],
      contactIds: [ada, eve, fay, NOBODY],
      excludeListIds: [without],
      filter: { city: 'Ulm' },
    },
  });
  expect(await audience(broadcastId)).toEqual({
    broadcastId,
    total: 1,
    excluded: {
      duplicate: 1,
      unknown: 2,
      excluded: 1,
      filtered: 1,
      unsubscribed: 1,
      withoutAddress: 0,
      suppressed: 1,
    },
  });
  // Everyone who is subscribed, once each, even if a tag also selects them.
  const tagged = await tag([ada, bob, cem], 'C');
  const all = { all: true, tagIds: [tagged], excludeListIds: [without] };
  expect(await audience(await create({ name: 'All', audience: all }))).toMatchObject({
    total: 2,
    excluded: { duplicate: 2, unknown: 0, excluded: 1, filtered: 0, unsubscribed: 1, suppressed: 1 },
  });
  expect(await audience(await create({ name: 'Not all', audience: { all: false } }))).toMatchObject({
    total: 0,
  });
  // Names and codes of a country are equal.
  const german = await person('gus@example.org', { country: 'DE' });
  const inGermany = { contactIds: [german, ada], filter: { country: 'Deutschland' } };
  expect(await audience(await create({ name: 'Germany', audience: inGermany }))).toMatchObject({
    total: 1,
    excluded: { filtered: 1 },
  });
  // A filter without lists, petitions or contacts selects no one.
  expect(
    await audience(await create({ name: 'Nobody', audience: { filter: { city: 'Ulm' } } })),
  ).toMatchObject({ total: 0 });
});

it('preview-audience counts an audience that is not saved like a stored one, with the same checks', async () => {
  const [ada, bob] = await Promise.all([
    person('ada.unsaved@example.org'),
    person('bob.unsaved@example.org'),
  ]);
  const [listId, without] = [await list([ada, bob], 'Both'), await list([bob], 'Bob')];
  const chosen = { listIds: [listId], excludeListIds: [without] };
  const count = (given: unknown, by = client) =>
    by.get('broadcast.preview-audience', {
      audience: typeof given === 'string' ? given : JSON.stringify(given),
    });
  const { broadcastId, ...stored } = await audience(await create({ name: 'Stored', audience: chosen }));
  expect(broadcastId).toEqual(expect.any(String));
  expect((await count(chosen)).body.data).toEqual({ broadcastId: null, ...stored });
  expect(stored.total).toBe(1);
  expect((await count({})).body.data.total).toBe(0);

  const faults = async (answer: Promise<Answer>) => {
    const { status, body } = await answer;
    return [status, body.error.issues?.[0]?.path ?? null];
  };
  expect(await faults(count('{'))).toEqual([400, 'audience']);
  expect(await faults(count('[]'))).toEqual([400, 'audience']);
  expect(await faults(count({ listIds: 'x' }))).toEqual([400, 'audience.listIds']);
  expect(await faults(count({ everyone: true }))).toEqual([400, 'audience.everyone']);
  expect(await faults(count({ listIds: [NOBODY] }))).toEqual([404, null]);
  expect(await faults(count({ listIds: [listId] }, await api.organization()))).toEqual([404, null]);
  const { key } = await api.createKey(client.organizationId, { scopes: ['broadcast:read', 'contact:read'] });
  const limited = new Client(client.origin, client.organizationId, key);
  expect(await faults(count({ listIds: [listId] }, limited))).toEqual([403, null]);
});

it('a repeated create or update returns the first response even after its list is deleted', async () => {
  const listId = await list([]);
  const keyed = (operation: string, input: object) =>
    client.post(`broadcast.${operation}`, input, { 'Idempotency-Key': operation });
  const input = { name: 'June', audience: { listIds: [listId] } };
  const first = (await keyed('create-broadcast', input)).body.data;
  const changed = { ...first, audience: { excludeListIds: [listId] } };
  const second = (await keyed('update-broadcast', changed)).body.data;
  await client.delete('list.delete-list', { listId });
  expect((await keyed('create-broadcast', input)).body.data).toEqual(first);
  expect((await keyed('update-broadcast', changed)).body.data).toEqual(second);
  const { status } = await client.post('broadcast.update-broadcast', changed);
  expect(status).toBe(404);
});

it('preview-broadcast warns of more than 80 KB, because Gmail clips emails after 102 KB', async () => {
  const preview = async (kilobytes: number) => {
    const broadcastId = await create({ subject: 'Long', content: `${'word '.repeat(kilobytes * 205)}` });
    return (await client.get('broadcast.preview-broadcast', { broadcastId })).body.data;
  };
  expect((await preview(70)).warnings).toEqual([]);
  const { bytes, html, warnings } = await preview(81);
  expect(bytes).toBe(Buffer.byteLength(html));
  expect(warnings).toEqual([
    {
      warning: 'MAY_BE_CLIPPED',
      message: expect.stringMatching(`^The email has ${Math.ceil(bytes / 1024)} KB\\. Gmail hides`),
    },
  ]);
});

it('preview-broadcast renders the email for a contact, or for an unknown reader', async () => {
  const contactId = await person('ada@example.org', { firstName: '<b>Ada</b>' });
  const broadcastId = await create({
    subject: 'Dear {{ contact.firstName | default: "friend" }}',
    content: '# {{ organization.name }}\n\nDear {{ contact.firstName | default: "friend" }}',
  });
  const preview = async (more = {}) =>
    (await client.get('broadcast.preview-broadcast', { broadcastId, ...more })).body.data;
  const anybody = await preview();
  expect(anybody).toMatchObject({ broadcastId, subject: 'Dear friend' });
  expect(anybody.html).toContain('Dear friend');
  const ada = await preview({ contactId });
  expect(ada.subject).toBe('Dear <b>Ada</b>');
  expect(ada.html).toContain('Dear &lt;b&gt;Ada&lt;/b&gt;');
  expect(ada.text).toMatch(/Dear <b>Ada<\/b>[^]*1 Quay\nHarbour[^]*Unsubscribe: http/);
  const { status } = await client.get('broadcast.preview-broadcast', { broadcastId, contactId: NOBODY });
  expect(status).toBe(404);
});

it('the unsubscribe link of a preview works only for callers who may change contacts', async () => {
  const contactId = await person('ada@example.org');
  const broadcastId = await create({ subject: 'Hello', content: 'Hello' });
  const isSubscribed = async () =>
    (await client.get('contact.get-contact', { contactId, organizationId: client.organizationId })).body.data
      .subscribed as boolean;
  const unsubscribe = async (by: Client) => {
    const { body } = await by.get('broadcast.preview-broadcast', { broadcastId, contactId });
    const [, path] = /Unsubscribe: https?:\/\/[^/]+(\/u\/\S+)/.exec(body.data.text)!;
    const one = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
    return (await fetch(`${api.origin}${path}`, { method: 'POST', body: one, redirect: 'manual' })).status;
  };
  const { key } = await api.createKey(client.organizationId, { scopes: ['broadcast:read', 'contact:read'] });
  await unsubscribe(new Client(api.origin, client.organizationId, key));
  expect(await isSubscribed()).toBe(true);
  await unsubscribe(client);
  expect(await isSubscribed()).toBe(false);
});

longIt(
  'returns 409 for a template that runs too long; a template that does so for one recipient delays no one else',
  async () => {
    const endless =
      '{% for a in (1..3000) %}{% for b in (1..3000) %}{% for c in (1..9) %}{% endfor %}{% endfor %}{% endfor %}';
    const everybody = await create({ content: endless });
    const refused = { status: 409, body: { error: { reason: 'BROADCAST_NOT_READY' } } };
    const message = expect.stringMatching(/^TEMPLATE_INVALID: /);
    // Each renders until the time limit.
    for (const render of someOf([
      () => client.post('broadcast.send-broadcast', { broadcastId: everybody }),
      () => client.get('broadcast.preview-broadcast', { broadcastId: everybody }),
      () => client.post('broadcast.send-test', { broadcastId: everybody, to: ['me@example.org'] }),
    ])) {
      const answer = await render();
      expect(answer).toMatchObject(refused);
      expect(answer.body.error.issues).toContainEqual({ path: 'content', message });
    }
    const bomb = await person('bomb@example.org', { firstName: 'Bomb' });
    const others = await Promise.all(['a', 'b', 'c'].map((name) => person(`${name}@example.org`)));
    const content = `{% if contact.firstName == 'Bomb' %}${endless}{% endif %}Hello`;
    const one = await create({ content, audience: { contactIds: [bomb, ...others] } });
    expect(
      await client.get('broadcast.preview-broadcast', { broadcastId: one, contactId: bomb }),
    ).toMatchObject(refused);
    await call('send-broadcast', { broadcastId: one });
    await eventually(async () => expect((await recipients(one, { status: 'SENT' })).length).toBe(3));
    expect(await recipients(one, { status: 'PENDING' })).toMatchObject([
      { contactId: bomb, detail: expect.stringMatching(/limit|too long/) },
    ]);
  },
);

it('the recipient list equals the one computed from the history at the position recorded at the start', async () => {
  const contactIds = await Promise.all(
    Array.from({ length: 24 }, (_, n) =>
      person(`p-${n}@example.org`, n % 5 === 0 ? { subscribed: false } : {}),
    ),
  );
  const listId = await list(contactIds.slice(0, 16), 'A');
  const without = await list(contactIds.slice(3, 6), 'B');
  const tagId = await tag(contactIds.slice(21, 23), 'C');
  const withoutTag = await tag(contactIds.slice(15, 17), 'D');
  const { petitionId } = (await client.post('petition.create-petition', { name: 'P' })).body.data;
  await client.post('petition.publish-petition', { petitionId });
  for (const contactId of contactIds.slice(12, 22))
    await client.post('petition.add-signature', { petitionId, contactId });
  await client.delete('petition.remove-signature', { petitionId, contactId: contactIds[13] });
  const { data: given } = (await client.get('petition.list-signatures', { petitionId })).body;
  const idOf = (n: number) => given.find((one: any) => one.contactId === contactIds[n]).id as string;
  const invalidate = async (...all: number[]) =>
    (
      await client.post('petition.invalidate-signatures', {
        petitionId,
        signatureIds: all.map((n) => idOf(n)),
      })
    ).body.data.invalidationId;
  await invalidate(17, 18);
  await client.post('petition.restore-signatures', { invalidationId: await invalidate(19) });
  await client.delete('list.remove-contacts', { listId, contactIds: [contactIds[1]] });
  await client.post('contact.update-contact', { contactId: contactIds[0], subscribed: true });
  await client.post('contact.update-contact', { contactId: contactIds[2], subscribed: false });
  await client.post('contact.update-contact', { contactId: contactIds[7], email: 'moved@example.org' });
  await client.post('suppression.create-suppression', { email: 'MOVED@example.org' });
  await client.post('suppression.create-suppression', { email: 'p-8@example.org' });
  await client.delete('suppression.delete-suppression', { email: 'p-8@example.org' });
  await client.delete('contact.delete-contact', { contactId: contactIds[9] });
  const broadcastId = await create({
    audience: {
      listIds: [listId],
      petitionIds: [petitionId],
      tagIds: [tagId],
      contactIds: [contactIds[23]],
      excludeListIds: [without],
      excludeTagIds: [withoutTag],
    },
  });
  const { total } = await audience(broadcastId);
  await call('send-broadcast', { broadcastId });
  const toAll = await create({ name: 'All', audience: { all: true } });
  await call('send-broadcast', { broadcastId: toAll });
  // Changes after the start do not change the recipient list.
  await client.post('contact.update-contact', { contactId: contactIds[11], subscribed: false });
  await client.delete('list.remove-contacts', { listId, contactIds: [contactIds[12]] });
  await sent(broadcastId);

  const events = (await client.get('history.list-events', { limit: '1000' })).body.data as {
    type: string;
    recordId: string;
    position: number;
    data: Record<string, any>;
  }[];
  const [started, startedToAll] = events.filter(({ type }) => type === 'BroadcastStarted');
  const people = new Map<string, { email: string | undefined; subscribed: boolean }>();
  const onLists = new Map<string, Set<string>>();
  const linked = (record: string) => onLists.get(record) ?? onLists.set(record, new Set()).get(record)!;
  const suppressed = new Map<string, string>();
  const signers = new Map<string, string>();
  for (const { type, recordId, position, data } of events) {
    if (position > started!.data.position) break;
    const contact = people.get(recordId)!;
    if (type === 'ContactCreated')
      people.set(recordId, { email: data.personal?.email, subscribed: data.subscribed });
    if (type === 'ContactUpdated' && data.personal?.email) contact.email = data.personal.email;
    if (type === 'ContactSubscribed') contact.subscribed = true;
    if (type === 'ContactUnsubscribed') contact.subscribed = false;
    if (type === 'ContactErased') {
      people.delete(recordId);
      for (const ids of onLists.values()) ids.delete(recordId);
    }
    if (type === 'ContactAddedToList') linked(data.listId).add(data.contactId);
    if (type === 'ContactRemovedFromList') linked(data.listId).delete(data.contactId);
    if (type === 'ContactTagged') linked(data.tagId).add(data.contactId);
    if (type === 'PetitionSigned') linked(data.petitionId).add(data.contactId);
    if (type === 'PetitionSigned') signers.set(recordId, data.contactId);
    for (const id of type === 'SignaturesInvalidated' ? data.signatureIds : [])
      linked(data.petitionId).delete(signers.get(id)!);
    for (const id of type === 'SignaturesRestored' ? data.signatureIds : [])
      linked(data.petitionId).add(signers.get(id)!);
    if (type === 'SignatureWithdrawn') linked(data.petitionId).delete(data.contactId);
    if (type === 'AddressSuppressed') suppressed.set(recordId, data.personal.email);
    if (type === 'SuppressionEnded') suppressed.delete(recordId);
  }
  const named = new Set([...linked(listId), ...linked(petitionId), ...linked(tagId), contactIds[23]!]);
  const stopped = new Set([...suppressed.values()].map((email) => email.toLowerCase()));
  const meant = [...named].filter((id) => {
    const one = people.get(id);
    if (linked(without).has(id) || linked(withoutTag).has(id)) return false;
    return one?.subscribed && one.email && !stopped.has(one.email.toLowerCase());
  });
  const rows = (await recipients(broadcastId)).map(({ contactId }: { contactId: string }) => contactId);
  expect(rows).toEqual(meant.toSorted());
  expect([total, started!.data.recipients]).toEqual([meant.length, meant.length]);
  expect(started!.data.digest).toBe(digestOfRecipients(meant));
  // Nothing about contacts happened between the two starts.
  const subscribers = [...people].filter(
    ([, { email, subscribed }]) => subscribed && email && !stopped.has(email.toLowerCase()),
  );
  expect(startedToAll!.data.digest).toBe(digestOfRecipients(subscribers.map(([id]) => id)));
  expect(startedToAll!.data.recipients).toBe(subscribers.length);
  // Of the recipients, a segment finds those to whom it was sent.
  const filter = JSON.stringify({ received: broadcastId });
  const { contacts } = (await client.get('segment.preview-segment', { filter })).body.data;
  const got = (await recipients(broadcastId, { status: 'SENT' })).map((one: any) => one.contactId);
  expect(got.length).toBeGreaterThan(0);
  expect(contacts.map(({ id }: { id: string }) => id).toSorted()).toEqual(got.toSorted());
});

it('the recipients of segments are those that the history gives, evaluated at the position and the moment of the start', async () => {
  const send = async (operation: string, fields: object) => {
    const { status, body } = await client.post(operation, fields);
    expect([operation, status, body.error]).toEqual([operation, 200, undefined]);
    return body.data;
  };
  const ids = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      person(`s-${n}@example.org`, {
        city: ['Köln', 'KÖLN', 'Bonn', null][n % 4],
        zip: `5${n}`,
        ...(n === 5 ? { subscribed: false } : {}),
      }),
    ),
  );
  const tagId = await tag(ids.slice(8, 14), 'Donor');
  const { petitionId } = await send('petition.create-petition', { name: 'P' });
  await send('petition.publish-petition', { petitionId });
  for (const contactId of ids.slice(12, 18)) await send('petition.add-signature', { petitionId, contactId });
  await client.delete('petition.remove-signature', { petitionId, contactId: ids[16] });
  const segment = async (name: string, filter: Filter): Promise<string> =>
    (await send('segment.create-segment', { name, filter })).segmentId;
  const chosen = await segment('A', { field: 'city', op: 'is', value: 'Bonn' });
  const cologne: Filter = { field: 'city', op: 'is', value: 'köln' };
  const current: Filter = {
    any: [{ all: [cologne, { field: 'createdAt', op: 'inLast', value: 1 }] }, { tag: tagId, inLast: 7 }],
  };
  await send('segment.update-segment', { segmentId: chosen, filter: current });
  const without = await segment('B', {
    all: [{ signed: petitionId }, { not: { field: 'zip', op: 'startsWith', value: '513' } }],
  });
  const gone = await segment('C', { field: 'email', op: 'isSet' });
  await client.post('contact.update-contact', { contactId: ids[0], city: 'Aachen' });
  await client.delete('contact.delete-contact', { contactId: ids[1] });
  const broadcastId = await create({
    audience: { segmentIds: [chosen, gone], excludeSegmentIds: [without] },
  });
  await client.delete('segment.delete-segment', { segmentId: gone });
  await call('send-broadcast', { broadcastId });
  // Changes after the start do not change the recipient list.
  await send('segment.update-segment', { segmentId: chosen, filter: { field: 'email', op: 'isSet' } });
  await send('contact.update-contact', { contactId: ids[2], city: 'Köln' });
  await sent(broadcastId);

  const { data: events } = (await client.get('history.list-events', { limit: '1000' })).body;
  const started = events.find(({ type }: any) => type === 'BroadcastStarted').data;
  const people = new Map<string, any>();
  const links = new Map<string, { of: string; contactId: string; since: Date }>();
  const filters = new Map<string, Filter>();
  for (const { type, recordType, recordId, position, occurredAt, data } of events) {
    if (position > started.position) break;
    const at = new Date(occurredAt);
    if (recordType === 'contact') {
      const { personal = null, ...rest } = data;
      const before = people.get(recordId);
      const state = contact.evolve(before?.state ?? contact.initial, { type, data: rest, personal }, at);
      people.set(recordId, { state, createdAt: before?.createdAt ?? at, updatedAt: at });
    }
    if (type === 'SegmentCreated' || type === 'SegmentUpdated') filters.set(recordId, data.filter);
    if (type === 'SegmentDeleted') filters.delete(recordId);
    const [of, contactId] = [data.tagId ?? data.petitionId, data.contactId];
    if (type === 'ContactTagged' || type === 'PetitionSigned')
      links.set(recordId, { of, contactId, since: data.signedAt ? new Date(data.signedAt) : at });
    if (type === 'SignatureWithdrawn') links.delete(recordId);
  }
  const matches = (contactId: string, segmentId: string) => {
    const { state, ...times } = people.get(contactId);
    const filter = filters.get(segmentId);
    if (!filter || state.status !== 'standing') return false;
    const linkedSince = (_: string, of: string) =>
      [...links.values()].find((link) => link.of === of && link.contactId === contactId)?.since;
    return matchesFilter(filter, { ...state, ...times, linkedSince }, momentOfSending(started.sendingId));
  };
  const meant = [...people.keys()].filter(
    (id) =>
      (matches(id, chosen) || matches(id, gone)) && !matches(id, without) && people.get(id).state.subscribed,
  );
  // In Cologne 0, 1, 4, 5, 8, 9, 12, 13, 16, 17 and tagged 8 to 13, without those that moved, left or signed.
  const expected = [4, 8, 9, 10, 11, 13, 16].map((n) => ids[n]!);
  expect(meant.toSorted()).toEqual(expected.toSorted());
  const rows = (await recipients(broadcastId)).map(({ contactId }: { contactId: string }) => contactId);
  expect(rows).toEqual(meant.toSorted());
  expect(started).toMatchObject({ recipients: meant.length, digest: digestOfRecipients(meant) });
});

it('create-broadcast creates another broadcast for the same body once the first is no longer a draft', async () => {
  const contactIds = [await person('weekly@example.org')];
  const weekly = { name: 'Weekly news', subject: 'News', content: 'Hello', audience: { contactIds } };
  const create = async () => (await client.post('broadcast.create-broadcast', weekly)).body.data.broadcastId;
  const first = await create();
  expect(await create()).toBe(first);
  expect((await client.post('broadcast.send-broadcast', { broadcastId: first })).status).toBe(200);
  const second = await create();
  expect(second).not.toBe(first);
  expect(await create()).toBe(second);
  const { data } = (await client.get('broadcast.list-broadcasts')).body;
  expect(data.map(({ id }: { id: string }) => id).toSorted()).toEqual([first, second].toSorted());
});

it('send-broadcast returns 409 with all blockers together', async () => {
  await client.post('organization.update-organization', { mailFrom: null, postalAddress: null });
  const broadcastId = await create({ content: '{{ contact.nickname }}' });
  const { status, body } = await client.post('broadcast.send-broadcast', { broadcastId });
  expect([status, body.error.reason]).toEqual([409, 'BROADCAST_NOT_READY']);
  expect(body.error.issues.map(({ message }: { message: string }) => message.split(':')[0])).toEqual([
    'NO_SENDER',
    'NO_POSTAL_ADDRESS',
    'UNKNOWN_MERGE_FIELD',
    'NO_RECIPIENTS',
  ]);
  expect((await get(broadcastId)).status).toBe('DRAFT');
});

it('sends one email to each recipient, with an unsubscribe link, and reports the results', async () => {
  const contactIds = await Promise.all(
    Array.from({ length: 30 }, (_, n) => person(`person-${n}@example.org`, { firstName: `N${n}` })),
  );
  const broadcastId = await create({
    subject: 'Dear {{ contact.firstName }}',
    preheader: 'Shortly',
    audience: { listIds: [await list(contactIds)] },
  });
  const { total } = await audience(broadcastId);
  const started = await call('send-broadcast', { broadcastId });
  expect(started).toMatchObject({
    status: 'SENDING',
    startedAt: expect.stringMatching(ISO),
    recipients: { total },
  });
  // Sending it again, during or after sending, has no effect.
  const again = await client.post('broadcast.send-broadcast', { broadcastId });
  expect([200, 409]).toContain(again.status);
  await sent(broadcastId);
  expect(await get(broadcastId)).toMatchObject({
    finishedAt: expect.stringMatching(ISO),
    recipients: {
      total: 30,
      sent: 30,
      failed: 0,
      skipped: 0,
      inDoubt: 0,
      bounced: 0,
      complained: 0,
      unsubscribed: 0,
    },
  });
  const rows = await recipients(broadcastId);
  expect(rows.map(({ contactId }: { contactId: string }) => contactId)).toEqual(contactIds.toSorted());
  expect(rows[0]).toEqual({
    contactId: expect.any(String),
    status: 'SENT',
    at: expect.stringMatching(ISO),
    detail: expect.any(String),
  });
  const written = await mails();
  expect(written.map((mail) => headerOf(mail, 'To')).toSorted()).toEqual(
    contactIds.map((_, n) => `person-${n}@example.org`).toSorted(),
  );
  const [mail] = written;
  expect(headerOf(mail!, 'From')).toBe(`Rivers <${client.organizationId}@example.org>`);
  expect(headerOf(mail!, 'Subject')).toMatch(/^Dear N\d+$/);
  expect(headerOf(mail!, 'List-Unsubscribe')).toMatch(/^<http.*\/u\/[\w-]{86}>$/);
  expect(headerOf(mail!, 'List-Unsubscribe-Post')).toBe('List-Unsubscribe=One-Click');
  expect(headerOf(mail!, 'Message-ID')).toMatch(/^<b[\w-]{43}@example\.org>$/);
  expect(headerOf(mail!, 'Auto-Submitted')).toBeUndefined();

  const { body } = await client.get('history.list-events', { recordId: broadcastId });
  const [created, start, end] = body.data;
  expect([created.type, start.type, end.type]).toEqual([
    'BroadcastCreated',
    'BroadcastStarted',
    'BroadcastSent',
  ]);
  expect(start.data).toMatchObject({ recipients: 30, digest: digestOfRecipients(contactIds) });
  expect(end.data).toEqual({ sent: 30, failed: 0, skipped: 0, inDoubt: 0 });
  // The past has only what the history records.
  const past = await get(broadcastId, { asOf: start.occurredAt });
  expect(past).toMatchObject({ status: 'SENDING', recipients: { total: 30, sent: null } });

  // The self-check finds each change of the recipients.
  const { source } = api.instances[0]!.runtime;
  expect(await findAlteredRecipients(source, 730)).toBeUndefined();
  const one = `broadcast_recipients WHERE contact_id = '${contactIds[3]}'`;
  const ofAll = `WHERE broadcast_id = '${broadcastId}'`;
  const ofOne = `SELECT sending_id, gen_random_uuid(), 'SENT' FROM ${one}`;
  for (const [tampering, finding] of [
    [`DELETE FROM ${one}`, /are not those/],
    [`INSERT INTO broadcast_recipients (sending_id, contact_id, status) ${ofOne}`, /are not those/],
    [
      `UPDATE broadcast_recipients SET contact_id = gen_random_uuid() WHERE contact_id = '${contactIds[3]}'`,
      /are not those/,
    ],
    [
      `UPDATE broadcast_recipients SET status = 'FAILED' WHERE contact_id = '${contactIds[3]}'`,
      /have different outcomes from those that the history/,
    ],
    [
      `UPDATE broadcast_sendings SET sent = sent + 1000 ${ofAll}`,
      /have different outcomes from those in its figures/,
    ],
    [
      `UPDATE broadcast_sendings SET total = total + 1 ${ofAll}`,
      /have different outcomes from those in its figures/,
    ],
    [`DELETE FROM broadcast_sendings ${ofAll}`, /have different outcomes from those in its figures/],
    [
      `UPDATE broadcast_recipients SET bounced_at = clock_timestamp() WHERE sending_id IN (SELECT id FROM broadcast_sendings ${ofAll})`,
      /have different outcomes from those in its figures/,
    ],
  ] as const) {
    const runner = source.createQueryRunner();
    await runner.startTransaction();
    await runner.query(tampering);
    const found = await findAlteredRecipients(runner.manager, 730);
    expect(found).toMatch(finding);
    expect(found).toContain(`broadcast ${broadcastId} of organization ${client.organizationId}`);
    await runner.rollbackTransaction();
    await runner.release();
  }
});

it('skips contacts who unsubscribe, are suppressed or are erased before their turn', async () => {
  // At least one contact must still be waiting: occasionally all messages leave before the pause.
  let waited = 0;
  for (let round = 0; waited === 0 && round < 20; round += 1) waited = await leaveWhileItIsSent(round);
  expect(waited).toBeGreaterThan(0);
});

/** @returns the number of recipients who were still waiting. */
async function leaveWhileItIsSent(round: number): Promise<number> {
  const [ada, bob, cem, dot] = await Promise.all(
    ['ada', 'bob', 'cem', 'dot'].map((name) => person(`${name}-${round}@example.org`)),
  );
  const broadcastId = await create({ audience: { contactIds: [ada, bob, cem, dot] } });
  await call('send-broadcast', { broadcastId });
  await call('pause-broadcast', { broadcastId });
  // A claimed message is either sent or given back, and then waits again.
  await eventually(async () => expect(await recipients(broadcastId, { status: 'CLAIMED' })).toEqual([]));
  const waiting = (await recipients(broadcastId, { status: 'PENDING' })) as { contactId: string }[];
  const isWaiting = (contactId: string | undefined) => waiting.some((one) => one.contactId === contactId);
  await client.post('contact.update-contact', { contactId: ada, subscribed: false });
  await client.post('suppression.create-suppression', { email: `bob-${round}@example.org` });
  await client.delete('contact.delete-contact', { contactId: cem });
  await call('resume-broadcast', { broadcastId });
  await sent(broadcastId);
  const rows = (await recipients(broadcastId)) as { contactId: string; status: string; detail: string }[];
  const outcome = (contactId: string | undefined) => rows.find((one) => one.contactId === contactId)!;
  expect(outcome(dot).status).toBe('SENT');
  for (const [contactId, detail] of [
    [ada, 'The contact unsubscribed.'],
    [bob, 'The address is suppressed.'],
    [cem, 'The contact was erased.'],
  ]) {
    expect(outcome(contactId)).toMatchObject(
      isWaiting(contactId) ? { status: 'SKIPPED', detail } : { status: 'SENT' },
    );
  }
  return waiting.length;
}

it('pause, resume and cancel: remaining recipients receive nothing after cancelling', async () => {
  const contactIds = await Promise.all(Array.from({ length: 50 }, (_, n) => person(`p-${n}@example.org`)));
  const broadcastId = await create({ audience: { contactIds } });
  for (const operation of ['pause-broadcast', 'resume-broadcast', 'retry-recipients']) {
    const input = { broadcastId, ...(operation === 'retry-recipients' ? { status: 'FAILED' } : {}) };
    const { status, body } = await client.post(`broadcast.${operation}`, input);
    expect([status, body.error.reason]).toEqual([409, 'BROADCAST_NOT_SENDING']);
  }
  await call('send-broadcast', { broadcastId });
  expect(await call('pause-broadcast', { broadcastId })).toMatchObject({ status: 'PAUSED' });
  expect(await call('pause-broadcast', { broadcastId })).toMatchObject({ status: 'PAUSED' });
  await eventually(async () => expect(await recipients(broadcastId, { status: 'CLAIMED' })).toEqual([]));
  const before = (await recipients(broadcastId, { status: 'SENT' })).length;
  expect(await call('cancel-broadcast', { broadcastId })).toMatchObject({ status: 'CANCELLED' });
  await eventually(async () =>
    expect((await get(broadcastId)).recipients).toMatchObject({
      total: 50,
      sent: before,
      skipped: 50 - before,
    }),
  );
  expect(await mails()).toHaveLength(before);
  const change = await client.post('broadcast.update-broadcast', { broadcastId, subject: 'x' });
  expect([change.status, change.body.error.reason]).toEqual([409, 'BROADCAST_BEGUN']);
  const { status } = await client.delete('broadcast.delete-broadcast', { broadcastId });
  expect(status).toBe(200);
  expect((await client.get('broadcast.list-recipients', { broadcastId })).status).toBe(404);
});

it('sends a scheduled broadcast at its time, or turns it into a draft again if something blocks it', async () => {
  const contactId = await person('ada@example.org');
  const soon = '2098-01-01T00:00:00.000Z';
  const broadcastId = await create({ audience: { contactIds: [contactId] } });
  const moved = await call('send-broadcast', { broadcastId, sendAt: '2099-01-01T00:00:00.000Z' });
  expect(moved).toMatchObject({ status: 'SCHEDULED', sendAt: '2099-01-01T00:00:00.000Z' });
  expect(await call('send-broadcast', { broadcastId, sendAt: soon })).toMatchObject({ sendAt: soon });
  const hindered = await create({ name: 'Hindered', audience: { contactIds: [contactId] } });
  await call('send-broadcast', { broadcastId: hindered, sendAt: soon });
  await call('update-broadcast', { broadcastId: hindered, audience: { contactIds: [NOBODY] } });
  expect((await get(broadcastId)).startedAt).toBeNull();
  for (const id of [broadcastId, hindered]) await comeDue(api.database, id, soon);
  await sent(broadcastId);
  await eventually(async () => expect(await get(hindered)).toMatchObject({ status: 'DRAFT', sendAt: null }));
  const { body } = await client.get('history.list-events', { recordId: hindered, type: 'BroadcastHindered' });
  expect(body.data[0].data).toEqual({ hindrances: ['NO_RECIPIENTS'] });
  expect(await mails()).toHaveLength(1);
});

it('send-test sends immediately to the given addresses only, and the history does not record it', async () => {
  const broadcastId = await create({ subject: 'Dear {{ contact.firstName | default: "friend" }}' });
  const answer = await call('send-test', { broadcastId, to: ['me@example.org', 'you@example.org'] });
  expect(answer.outcomes).toEqual([
    { number: 1, sent: true, detail: expect.any(String) },
    { number: 2, sent: true, detail: expect.any(String) },
  ]);
  const written = await mails();
  expect(written.map((mail) => headerOf(mail, 'Subject'))).toEqual([
    '[Test] Dear friend',
    '[Test] Dear friend',
  ]);
  expect(await api.eventTypes(client.organizationId)).not.toContain('BroadcastStarted');
  for (const to of [[], ['x'], Array.from({ length: 11 }, () => 'a@example.org')]) {
    const { status } = await client.post('broadcast.send-test', { broadcastId, to });
    expect(status).toBe(400);
  }
});

it('list-recipients paginates and filters by status, and rejects foreign cursors', async () => {
  const contactIds = await Promise.all(Array.from({ length: 5 }, (_, n) => person(`p-${n}@example.org`)));
  const broadcastId = await create({ audience: { contactIds } });
  expect(await recipients(broadcastId)).toEqual([]);
  await call('send-broadcast', { broadcastId });
  await sent(broadcastId);
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const query: Record<string, string> = { broadcastId, limit: '2', ...(cursor ? { cursor } : {}) };
    const { body } = await client.get('broadcast.list-recipients', query);
    seen.push(...body.data.map(({ contactId }: { contactId: string }) => contactId));
    ({ cursor } = body.pagination);
  } while (cursor !== null);
  expect(seen).toEqual(contactIds.toSorted());
  const { status } = await client.get('broadcast.list-recipients', { broadcastId, cursor: 'x' });
  expect(status).toBe(400);
});

it('sending requires broadcast:send in addition to broadcast:write', async () => {
  const broadcastId = await create();
  const { key } = await api.createKey(client.organizationId, {
    scopes: ['broadcast:write', 'broadcast:read'],
  });
  const writer = Object.assign(Object.create(Object.getPrototypeOf(client)), client, { key }) as Client;
  for (const [operation, more] of [
    ['send-broadcast', {}],
    ['resume-broadcast', {}],
    ['send-test', { to: ['a@example.org'] }],
    ['retry-recipients', { status: 'FAILED' }],
  ] as const) {
    const { status } = await writer.post(`broadcast.${operation}`, { broadcastId, ...more });
    expect([operation, status]).toEqual([operation, 403]);
  }
  expect((await writer.post('broadcast.update-broadcast', { broadcastId, subject: 'x' })).status).toBe(200);
});
