import { DASHBOARD } from '#locales';
import { form } from '../src/forms/index.js';
import { fieldsIn, RECORDS } from './dashboard-pages.js';
import { Api, type Client } from './harness.js';
import { signedIn, type Visitor } from './people-in.js';
import { call } from './petition-page.js';
import { inParallel } from './processes.js';

/** Behaviour that the dashboard's forms add to the operations. */

let api: Api;
let client: Client;
let owner: Visitor;
beforeAll(async () => {
  api = await Api.start({ environment: { TRUST_PROXY: '1' } });
  client = await api.organization();
  owner = await signedIn(api, client, 'OWNER', 'owner@example.org');
});
afterAll(() => api.stop());

const at = (path: string) => `/dashboard/${client.organizationId}/${path}`;
const get = (path: string) => owner.get(path);
const post = (...sent: Parameters<Visitor['post']>) => owner.post(...sent);
const newId = async (kind: string) => RECORDS[kind]!(api, client, {});
const hiddenIn = (text: string, name: string) =>
  new RegExp(` name="${name}" value="([^"]*)"`).exec(text)![1]!;

/** A record, its form, and a change by someone else. */
const CHANGED: Record<
  string,
  { path: (id: string) => string; operation: string; idField: string; change: object }
> = {
  contact: {
    path: (id) => `contacts/${id}/edit`,
    operation: 'contact.update-contact',
    idField: 'contactId',
    change: { phone: '123' },
  },
  list: {
    path: (id) => `lists/${id}/edit`,
    operation: 'list.update-list',
    idField: 'listId',
    change: { description: 'Theirs' },
  },
  tag: {
    path: (id) => `tags/${id}/edit`,
    operation: 'tag.update-tag',
    idField: 'tagId',
    change: { description: 'Theirs' },
  },
  petition: {
    path: (id) => `petitions/${id}/edit`,
    operation: 'petition.update-petition',
    idField: 'petitionId',
    change: { description: 'Theirs' },
  },
  form: {
    path: (id) => `forms/${id}/edit`,
    operation: 'form.update-form',
    idField: 'formId',
    change: { text: 'Theirs' },
  },
  post: {
    path: (id) => `posts/${id}/edit`,
    operation: 'post.update-post',
    idField: 'postId',
    change: { description: 'Theirs' },
  },
  image: {
    path: (id) => `images/${id}`,
    operation: 'image.update-image',
    idField: 'imageId',
    change: { alt: 'Theirs' },
  },
  broadcast: {
    path: (id) => `broadcasts/${id}/edit`,
    operation: 'broadcast.update-broadcast',
    idField: 'broadcastId',
    change: { preheader: 'Theirs' },
  },
  webhook: {
    path: (id) => `webhooks/${id}/edit`,
    operation: 'webhook.update-webhook',
    idField: 'webhookId',
    change: { description: 'Theirs' },
  },
  organization: {
    path: () => 'organization/who',
    operation: 'organization.update-organization',
    idField: 'organizationId',
    change: { country: 'NO' },
  },
  'sender of mails': {
    path: () => 'organization/mails',
    operation: 'organization.update-organization',
    idField: 'organizationId',
    change: { postalAddress: 'Theirs' },
  },
};
/** What a browser sends if the user changes nothing. */
const unchangedIn = (text: string) =>
  fieldsIn(text)
    .filter(({ isChosen }) => isChosen)
    .map(({ name, value }): [string, string] => [name, value]);
const isOfOrganization = (kind: string) => CHANGED[kind]!.path('').startsWith('organization/');

describe('a record that someone else changed while its form was open', () => {
  it.each(Object.entries(CHANGED))(
    '%s is not silently overwritten',
    async (kind, { path, operation, idField, change }) => {
      const id = isOfOrganization(kind) ? client.organizationId : await newId(kind);
      const form = {
        'mailFrom.name': 'Mine',
        'mailFrom.address': 'mine@example.org',
        name: 'Mine',
        firstName: 'Mine',
        description: 'Mine',
        title: 'Mine',
        email: `${id}@example.org`,
        goal: '5',
        subject: 'Mine',
        content: 'Mine',
        url: 'https://webhooks.invalid/mine',
        eventTypes: 'PetitionSigned',
      };
      const since = hiddenIn((await get(at(path(id)))).text, 'since');
      await call(client, operation, { [idField]: id, ...change });
      const refused = await post(at(path(id)), { ...form, since });
      expect([refused.status, refused.text]).toEqual([
        422,
        expect.stringContaining('Someone else changed this while you were editing.'),
      ]);
      expect(refused.text).toContain('Mine');
      const seen = hiddenIn(refused.text, 'since');
      expect(seen).not.toBe(since);
      expect((await post(at(path(id)), { ...form, since: seen })).status).toBe(303);
    },
  );

  it('is not considered changed by new signatures', async () => {
    const petitionId = await newId('petition');
    await call(client, 'petition.publish-petition', { petitionId });
    const since = hiddenIn((await get(at(`petitions/${petitionId}/edit`))).text, 'since');
    await call(client, 'petition.add-signature', { petitionId, contact: { email: 'signer@example.org' } });
    const form = { title: 'Mine', goal: '5', since };
    expect((await post(at(`petitions/${petitionId}/edit`), form)).status).toBe(303);
  });
});

/** Pages whose form changes a record. */
const EDITED: Record<string, () => Promise<string>> = {
  ...Object.fromEntries(
    Object.entries(CHANGED).map(([kind, { path }]): [string, () => Promise<string>] => [
      kind,
      async () => path(isOfOrganization(kind) ? client.organizationId : await newId(kind)),
    ]),
  ),
  'built-in form': async () => {
    for (const kind of ['list', 'tag']) await newId(kind);
    return `forms/${form.builtIn!.idIn(client.organizationId)}/edit`;
  },
  view: async () => `views/${await newId('view')}/edit`,
  segment: async () => `segments/${await newId('segment')}/edit`,
  goal: async () => `petitions/${await newId('petition')}/goal`,
  thanks: async () => `petitions/${await newId('petition')}/thanks`,
};

it.each(Object.entries(EDITED))('%s: saving a form without a change changes nothing', async (_, make) => {
  const page = at(await make());
  const fields = unchangedIn((await get(page)).text);
  const before = await api.lastPosition();
  const { status, text } = await post(page, fields);
  expect([status, text]).toEqual([303, '']);
  expect(await api.eventsAfter(client.organizationId, before)).toEqual([]);
});

describe('a time in the past', () => {
  it('is rejected at its field and sends nothing', async () => {
    const broadcastId = await newId('broadcast');
    const { status, text } = await post(at(`broadcasts/${broadcastId}/send`), {
      sendAt: '2020-01-01T10:00',
    });
    expect([status, text]).toEqual([422, expect.stringContaining('<a href="#sendAt">')]);
    const { body } = await client.get('broadcast.get-broadcast', { broadcastId });
    expect(body.data.status).toBe('DRAFT');
  });

  it('is rejected as closing time of a petition, unless it was already stored', async () => {
    const form = { name: 'Late', title: 'Late', goal: '5', closesAt: '2020-01-01T10:00' };
    const { status, text } = await post(at('petitions/new'), form);
    expect([status, text]).toEqual([422, expect.stringContaining('<a href="#closesAt">')]);
    const petitionId = await newId('petition');
    expect((await post(at(`petitions/${petitionId}/edit`), form)).status).toBe(422);
    await call(client, 'petition.update-petition', { petitionId, closesAt: '2020-01-01T10:00:00Z' });
    expect((await post(at(`petitions/${petitionId}/edit`), form)).status).toBe(303);
  });
});

describe('an email with an invalid template', () => {
  it.each([
    ['{{ contact.frstName }}', 'Unknown field: contact.frstName'],
    ['{% if contact.firstName %}', 'is not closed'],
  ])('shows the error in the preview, with a link back: %s', async (content, says) => {
    const viewer = await signedIn(api, client, 'VIEWER', `viewer-${says.length}@example.org`);
    const { broadcastId } = await call(client, 'broadcast.create-broadcast', {
      name: 'Broken',
      subject: 'S',
      content,
    });
    for (const visitor of [owner, viewer]) {
      const { status, text } = await visitor.get(at(`broadcasts/${broadcastId}/preview`));
      expect([status, text]).toEqual([200, expect.stringContaining(says)]);
      expect(text).toContain(`href="${at(`broadcasts/${broadcastId}`)}"`);
    }
    const tested = await post(at(`broadcasts/${broadcastId}/test`), { to: 'me@example.org' });
    expect([tested.status, tested.text]).toEqual([409, expect.not.stringContaining('_FIELD')]);
  });
});

describe('lists', () => {
  it('of signatures show the selected status', async () => {
    const petitionId = await newId('petition');
    await call(client, 'petition.publish-petition', { petitionId });
    const { text } = await get(at(`petitions/${petitionId}/signatures?status=PENDING`));
    const [, options] = /<select id="status"[^>]*>([^]*?)<\/select>/.exec(text)!;
    expect(options!.replace(/(<[^>]*>|\s)+/g, ' ').trim()).toBe('Counted Not confirmed Removed');
  });

  it('show the search in the window title, and link back to all', async () => {
    const { text } = await get(at('contacts?q=nobody-of-this-name'));
    expect(text).toMatch(/<title>Contacts: “nobody-of-this-name” – /);
    expect(text).toContain(`<a href="${at('contacts')}">Show all</a>`);
  });

  it('of petitions to choose from show their titles', async () => {
    const petitionId = await newId('petition');
    await call(client, 'petition.update-petition', { petitionId, title: 'Its newer title' });
    expect((await get(at('broadcasts/new'))).text).toContain('Its newer title');
  });
});

it('removes exactly the signatures that were counted, even if the fields changed since', async () => {
  const petitionId = await newId('petition');
  await call(client, 'petition.publish-petition', { petitionId });
  for (const email of ['one@spam.example', 'two@spam.example', 'real@example.org'])
    await call(client, 'petition.add-signature', { petitionId, contact: { email } });
  const path = at(`petitions/${petitionId}/invalidate`);
  const { text } = await post(path, { emailDomain: 'spam.example' });
  const forms = [...text.matchAll(/<form[^]*?<\/form>/g)].map(([form]) => form);
  const [counting, typing] = [
    forms.filter((form) => form.includes('name="takeOut"')),
    forms.filter((form) => form.includes('type="datetime-local"')),
  ];
  expect([counting.length, typing.length]).toEqual([1, 1]);
  // Pressing Enter in a field counts again.
  expect(typing[0]).not.toContain('takeOut');
  expect(counting[0]).toContain('<input type="hidden" name="emailDomain" value="spam.example"');
  expect(counting[0]).not.toMatch(/type="(text|datetime-local)"/);
});

it('line breaks of texts are stored as LF', async () => {
  const contactId = await newId('contact');
  await call(client, 'contact.update-contact', { contactId, bio: 'One\nTwo' });
  const { body } = await client.get('contact.get-contact', {
    contactId,
    organizationId: client.organizationId,
  });
  const before = await api.lastPosition();
  const { email } = body.data;
  await post(at(`contacts/${contactId}/edit`), { email, bio: 'One\r\nTwo', subscribed: 'true' });
  const types = (await api.eventsAfter(client.organizationId, before)).map(({ type }) => type);
  expect(types).not.toContain('ContactUpdated');
});

it('an unchanged closing time keeps its seconds', async () => {
  const petitionId = await newId('petition');
  const closesAt = '2099-12-31T23:59:59.000Z';
  await call(client, 'petition.update-petition', { petitionId, closesAt });
  const form = { title: 'Late', goal: '5', closesAt: '2099-12-31T23:59' };
  expect((await post(at(`petitions/${petitionId}/edit`), form)).status).toBe(303);
  const { body } = await client.get('petition.get-petition', { petitionId });
  expect(Date.parse(body.data.closesAt)).toBe(Date.parse(closesAt));
});

it('a closing time is typed and shown in the time zone of the organization, also when clocks change', async () => {
  const own = await api.organization();
  const inZone = async (timeZone: string) =>
    (await own.post('organization.update-organization', { timeZone })).body.data?.timeZone as string;
  expect(await inZone('europe/berlin')).toBe('Europe/Berlin');
  for (const wrong of ['Berlin', '+02:00', '<b>', 'x'.repeat(10_000)]) {
    const { status, body } = await own.post('organization.update-organization', { timeZone: wrong });
    expect([status, body.error.issues[0].path]).toEqual([400, 'timeZone']);
  }
  await call(client, 'organization.update-organization', { timeZone: 'Europe/Berlin' });
  const petitionId = await newId('petition');
  const path = `petitions/${petitionId}`;
  const stored = async () => (await client.get('petition.get-petition', { petitionId })).body.data.closesAt;
  for (const [typed, moment] of [
    ['2099-07-31T23:59', '2099-07-31T21:59:00.000Z'],
    ['2099-12-31T23:59', '2099-12-31T22:59:00.000Z'],
  ] as const) {
    const form = { title: 'Late', goal: '5', closesAt: typed };
    expect((await post(at(`${path}/edit`), form)).status).toBe(303);
    expect(await stored()).toBe(moment);
    expect((await get(at(`${path}/edit`))).text).toContain(`value="${typed}"`);
  }
  expect((await get(at(path))).text).toContain('31 Dec 2099, 23:59 Europe/Berlin');
  // The second of two equal times, which typing cannot express, stays.
  const second = '2099-10-25T01:30:59.000Z';
  await call(client, 'petition.update-petition', { petitionId, closesAt: second });
  const { text } = await get(at(`${path}/edit`));
  const [, shown = ''] = /name="closesAt"[^>]* value="([^"]+)"/.exec(text) ?? [];
  expect(shown).toBe('2099-10-25T02:30');
  expect((await post(at(`${path}/edit`), { title: 'Late', goal: '6', closesAt: shown })).status).toBe(303);
  expect(await stored()).toBe(second);
  await call(client, 'organization.update-organization', { timeZone: 'UTC' });
});

it('the confirmation names the signer whose signature is removed', async () => {
  const petitionId = await newId('petition');
  await call(client, 'petition.publish-petition', { petitionId });
  const contact = { email: 'grace@example.org', firstName: 'Grace', lastName: 'Hopper' };
  await call(client, 'petition.add-signature', { petitionId, contact });
  const { text } = await get(at(`petitions/${petitionId}/signatures`));
  const [, href] = /href="([^"]+\/invalidate\?contact=[^"]+)"/.exec(text)!;
  expect((await get(href!)).text).toContain('<h1>Remove the signature of Grace Hopper?</h1>');
});

it.each([
  [['contact:read', 'petition:read'], 'contact.list-contacts'],
  [['history:read'], 'history.list-events'],
  [['team:read'], 'team.list-members'],
  [['organization:read', 'contact:read'], 'organization.get-organization'],
  // The choice to read everything.
  [['*:read'], 'organization.get-organization'],
])('a new key with %j shows an example that it permits', async (scopes, operation) => {
  const form = [
    ['name', `Key ${scopes.join()}`],
    ['rateLimit', '10'],
    ...scopes.map((scope) => ['scopes', scope]),
  ] as [string, string][];
  const { text } = await post(at('keys/new'), form);
  expect(text).toContain(`/v1/${operation} -H`);
  const [, key] = /Bearer ([\w-]+)/.exec(text)!;
  const answer = await fetch(`${api.origin}/v1/${operation}`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  expect(answer.status).toBe(200);
});

it('a conflict is shown at its field', async () => {
  await call(client, 'contact.create-contact', {
    organizationId: client.organizationId,
    email: 'taken@example.org',
  });
  const contact = await post(at('contacts/new'), { email: 'taken@example.org' });
  expect([contact.status, contact.text]).toEqual([409, expect.stringContaining('<a href="#email">')]);
  const member = await post(at('team/invite'), { email: 'owner@example.org', role: 'VIEWER' });
  expect([member.status, member.text]).toEqual([409, expect.stringContaining('<a href="#email">')]);
});

it.each([
  ['text', 'Dieses Bildformat wird nicht unterstützt'],
  ['\x89PNG\r\n\x1a\nbroken', 'Dieses Bild ist beschädigt|Dieses Bildformat wird nicht unterstützt'],
])('an invalid image is rejected at its field, with a translated error: %j', async (content, says) => {
  const german = owner.at(api.origin, 'de');
  const file = { field: 'file', name: 'x.png', type: 'image/png', content };
  const { status, text } = await german.upload(at('images/new'), file, { name: 'X' });
  expect([status, text]).toEqual([422, expect.stringMatching(`<a href="#file">[^<]*(${says})`)]);
});

it('a sign-up form can be saved without lists and tags, and removes the last ones', async () => {
  const { listId } = await call(client, 'list.create-list', { name: 'Readers' });
  const { tagId } = await call(client, 'tag.create-tag', { name: 'Readers' });
  const { formId } = await call(client, 'form.create-form', { name: 'Readers' });
  const page = at(`forms/${formId}/edit`);
  const isOfGroups = ([name]: [string, string]) => ['listIds', 'tagIds'].includes(name);
  const save = async (...groups: [string, string][]) => {
    const fields = unchangedIn((await get(page)).text).filter((field) => !isOfGroups(field));
    expect((await post(page, [...fields, ...groups])).status).toBe(303);
    const { listIds, tagIds } = (await client.get('form.get-form', { formId })).body.data;
    const shown = unchangedIn((await get(page)).text).filter(isOfGroups);
    return { listIds, tagIds, shown };
  };
  expect(await save()).toEqual({ listIds: [], tagIds: [], shown: [] });
  const chosen: [string, string][] = [
    ['listIds', listId!],
    ['tagIds', tagId!],
  ];
  expect(await save(...chosen)).toEqual({ listIds: [listId], tagIds: [tagId], shown: chosen });
  expect(await save()).toEqual({ listIds: [], tagIds: [], shown: [] });
  const many = Array.from({ length: 21 }, (_, n): [string, string] => ['listIds', `${n}`]);
  const { status, text } = await post(page, [...unchangedIn((await get(page)).text), ...many]);
  expect([status, text]).toEqual([
    422,
    expect.stringContaining('<a href="#listIds">Add people to these lists: Select 20 options or fewer'),
  ]);
});

it('excluded contacts are counted by reason', async () => {
  const { why, total, excluded } = DASHBOARD.en.broadcasts.audience;
  const own = await api.organization();
  const { organizationId } = own;
  const [listId, otherId, leftOutId] = (await Promise.all(
    ['One', 'Other', 'Left out'].map(async (name) => (await call(own, 'list.create-list', { name })).listId),
  )) as [string, string, string];
  // Each kind has a different count.
  const people = async (count: number, kind: string, details: object, listIds = [listId]) => {
    const one = async (_: unknown, n: number) => {
      const email = `${kind}-${n}@example.org`;
      const fields = { organizationId, email, subscribed: true, country: 'DE', ...details };
      const { contactId } = await call(own, 'contact.create-contact', fields);
      for (const each of listIds)
        await call(own, 'list.add-contacts', { listId: each, contactIds: [contactId] });
      if (kind === 'suppressed') await call(own, 'suppression.create-suppression', { email });
    };
    await Promise.all(Array.from({ length: count }, one));
  };
  await people(1, 'reader', {});
  await people(2, 'duplicate', {}, [listId, otherId]);
  await people(3, 'unsubscribed', { subscribed: false });
  await people(4, 'suppressed', {});
  await people(5, 'excluded', {}, [listId, leftOutId]);
  await people(6, 'filtered', { country: 'FR' });
  const audience = {
    listIds: [listId, otherId],
    excludeListIds: [leftOutId],
    filter: { country: 'DE' },
  };
  const { broadcastId } = await call(own, 'broadcast.create-broadcast', { name: 'News', audience });
  const viewer = await signedIn(api, own, 'VIEWER');
  const { text } = await viewer.get(`/dashboard/${organizationId}/broadcasts/${broadcastId}/audience`);
  expect(text).toContain(total(3));
  expect(text).toContain(`aria-label="${why}"`);
  const [, rows = ''] = /<tbody[^>]*>([^]*)<\/tbody>/.exec(text) ?? [];
  const shown = [...rows.matchAll(/<tr[^>]*>([^]*?)<\/tr>/g)].map(([, row]) =>
    [...row!.matchAll(/<t[hd][^>]*>([^<]*)</g)].map(([, cell]) => cell!.trim()),
  );
  expect(shown.toSorted()).toEqual(
    [
      [excluded.duplicate, '2'],
      [excluded.unsubscribed, '3'],
      [excluded.suppressed, '4'],
      [excluded.excluded, '5'],
      [excluded.filtered, '6'],
    ].toSorted(),
  );
});

/** Pages with something in progress. It stays in progress, because no background workers run. */
const GOING: Record<string, () => Promise<string>> = {
  workings: () => Promise.resolve('workings'),
  'an import': async () => {
    const file = { field: 'file', name: 'people.csv', type: 'text/csv', content: 'email\nada@example.org\n' };
    const { location } = await owner.upload(at('contacts/import'), file);
    expect((await post(location!, { 'column-0': 'email' })).status).toBe(303);
    return `contacts/import/${location!.split('/').at(-1)!}`;
  },
  'a broadcast': async () => {
    const broadcastId = await newId('broadcast');
    await call(client, 'broadcast.send-broadcast', { broadcastId });
    return `broadcasts/${broadcastId}`;
  },
  'a bulk removal of signatures': async () => {
    const petitionId = await newId('petition');
    await call(client, 'petition.publish-petition', { petitionId });
    // The first 200 are removed immediately.
    await inParallel(201, 16, async (n) => {
      const contact = { email: `${n}@going.example` };
      await call(client, 'petition.add-signature', { petitionId, contact });
    });
    const condition = { petitionId, emailDomain: 'going.example' };
    const { invalidationId } = await call(client, 'petition.invalidate-signatures', condition);
    return `petitions/${petitionId}/invalidations/${invalidationId}`;
  },
};

it.each(Object.entries(GOING))('a page polls until the user pauses it: %s', async (_, make) => {
  const page = at(await make());
  const going = await get(page);
  const [, asking = ''] = /<div id="live"([^>]*)>/.exec(going.text) ?? [];
  expect([going.status, asking]).toEqual([
    200,
    expect.stringContaining(`hx-get="${page}" hx-trigger="every 2s"`),
  ]);
  expect(going.text).toContain('<noscript><meta http-equiv="refresh" content="3" /></noscript>');
  expect(going.text).toContain(`href="${page}?still=1"`);
  expect(going.text).toMatch(/role="status" id="how-it-is">[^<]*\S/);
  const held = await get(`${page}?still=1`);
  expect(held.text).not.toMatch(/every 2s|http-equiv="refresh"/);
  expect(held.text).toContain(`href="${page}"`);
});
