import { RECORDS } from './dashboard-pages.js';
import { Api, type Client } from './harness.js';
import { patiently, signedIn, type Visitor } from './people-in.js';
import { call } from './petition-page.js';

/** What forms of the dashboard take care of beyond the operations behind them. */

let api: Api;
let client: Client;
let owner: Visitor;
beforeAll(async () => {
  api = await Api.start({ environment: { TRUST_PROXY: '1' } });
  client = await api.organization();
  owner = await signedIn(api, client, 'OWNER');
});
afterAll(() => api.stop());

const at = (path: string) => `/dashboard/${client.organizationId}/${path}`;
const get = (path: string) => patiently(() => owner.get(path));
const post = (...sent: Parameters<Visitor['post']>) => patiently(() => owner.post(...sent));
const newId = async (kind: string) => RECORDS[kind]!(api, client, {});
const hiddenIn = (text: string, name: string) =>
  new RegExp(` name="${name}" value="([^"]*)"`).exec(text)![1]!;

/** A record, its form, and how somebody else changes it meanwhile. */
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
};

describe('a record that somebody else has changed since its form was opened', () => {
  it.each(Object.entries(CHANGED))(
    '%s is not overwritten unseen',
    async (kind, { path, operation, idField, change }) => {
      const id = await newId(kind);
      const form = {
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
        expect.stringContaining('Somebody has changed this meanwhile.'),
      ]);
      expect(refused.text).toContain('Mine');
      const seen = hiddenIn(refused.text, 'since');
      expect(seen).not.toBe(since);
      expect((await post(at(path(id)), { ...form, since: seen })).status).toBe(303);
    },
  );

  it('is not changed by who signs', async () => {
    const petitionId = await newId('petition');
    await call(client, 'petition.publish-petition', { petitionId });
    const since = hiddenIn((await get(at(`petitions/${petitionId}/edit`))).text, 'since');
    await call(client, 'petition.add-signature', { petitionId, contact: { email: 'signer@example.org' } });
    const form = { title: 'Mine', goal: '5', since };
    expect((await post(at(`petitions/${petitionId}/edit`), form)).status).toBe(303);
  });
});

describe('a moment that is over', () => {
  it('sends nothing at once: it is refused at its field', async () => {
    const broadcastId = await newId('broadcast');
    const { status, text } = await post(at(`broadcasts/${broadcastId}/send`), {
      sendAt: '2020-01-01T10:00',
    });
    expect([status, text]).toEqual([422, expect.stringContaining('<a href="#sendAt">')]);
    const { body } = await client.get('broadcast.get-broadcast', { broadcastId });
    expect(body.data.status).toBe('DRAFT');
  });

  it('is no last day of a petition, unless it was before', async () => {
    const form = { name: 'Late', title: 'Late', goal: '5', closesAt: '2020-01-01T10:00' };
    const { status, text } = await post(at('petitions/new'), form);
    expect([status, text]).toEqual([422, expect.stringContaining('<a href="#closesAt">')]);
    const petitionId = await newId('petition');
    expect((await post(at(`petitions/${petitionId}/edit`), form)).status).toBe(422);
    await call(client, 'petition.update-petition', { petitionId, closesAt: '2020-01-01T10:00:00Z' });
    expect((await post(at(`petitions/${petitionId}/edit`), form)).status).toBe(303);
  });
});

describe('a mail that cannot be made', () => {
  it.each([
    ['{{ contact.frstName }}', 'There is no such field: contact.frstName'],
    ['{% if contact.firstName %}', 'do not fit together'],
  ])('says so where it is looked at, and leads back: %s', async (content, says) => {
    const viewer = await signedIn(api, client, 'VIEWER', `viewer-${says.length}@example.org`);
    const { broadcastId } = await call(client, 'broadcast.create-broadcast', {
      name: 'Broken',
      subject: 'S',
      content,
    });
    for (const visitor of [owner, viewer]) {
      const { status, text } = await patiently(() => visitor.get(at(`broadcasts/${broadcastId}/preview`)));
      expect([status, text]).toEqual([200, expect.stringContaining(says)]);
      expect(text).toContain(`href="${at(`broadcasts/${broadcastId}`)}"`);
    }
    const tested = await post(at(`broadcasts/${broadcastId}/test`), { to: 'me@example.org' });
    expect([tested.status, tested.text]).toEqual([409, expect.not.stringContaining('_FIELD')]);
  });
});

describe('lists', () => {
  it('of signatures say which they show', async () => {
    const petitionId = await newId('petition');
    await call(client, 'petition.publish-petition', { petitionId });
    const { text } = await get(at(`petitions/${petitionId}/signatures?status=PENDING`));
    const [, options] = /<select id="status"[^>]*>([^]*?)<\/select>/.exec(text)!;
    expect(options!.replace(/(<[^>]*>|\s)+/g, ' ').trim()).toBe(
      'Counts Waits for a confirmation Was taken out',
    );
  });

  it('say in their titles what was looked for, and lead back to all', async () => {
    const { text } = await get(at('contacts?q=nobody-of-this-name'));
    expect(text).toMatch(/<title>Contacts: “nobody-of-this-name” – /);
    expect(text).toContain(`<a href="${at('contacts')}">Show all</a>`);
  });

  it('of petitions to choose from call them by their titles', async () => {
    const petitionId = await newId('petition');
    await call(client, 'petition.update-petition', { petitionId, title: 'Its newer title' });
    expect((await get(at('broadcasts/new'))).text).toContain('Its newer title');
  });
});

it('what is taken out is what was counted, whatever the fields say by then', async () => {
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
  // What Enter does in a field is to look again.
  expect(typing[0]).not.toContain('takeOut');
  expect(counting[0]).toContain('<input type="hidden" name="emailDomain" value="spam.example"');
  expect(counting[0]).not.toMatch(/type="(text|datetime-local)"/);
});

it('lines of a text are divided as everybody else divides them', async () => {
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

it('a last day keeps its seconds where nobody changes it', async () => {
  const petitionId = await newId('petition');
  const closesAt = '2099-12-31T23:59:59.000Z';
  await call(client, 'petition.update-petition', { petitionId, closesAt });
  const form = { title: 'Late', goal: '5', closesAt: '2099-12-31T23:59' };
  expect((await post(at(`petitions/${petitionId}/edit`), form)).status).toBe(303);
  const { body } = await client.get('petition.get-petition', { petitionId });
  expect(Date.parse(body.data.closesAt)).toBe(Date.parse(closesAt));
});

it('whose signature is taken out is said before', async () => {
  const petitionId = await newId('petition');
  await call(client, 'petition.publish-petition', { petitionId });
  const contact = { email: 'grace@example.org', firstName: 'Grace', lastName: 'Hopper' };
  await call(client, 'petition.add-signature', { petitionId, contact });
  const { text } = await get(at(`petitions/${petitionId}/signatures`));
  const [, href] = /href="([^"]+\/invalidate\?contact=[^"]+)"/.exec(text)!;
  expect((await get(href!)).text).toContain('<h1>Take out the signature of Grace Hopper?</h1>');
});

it.each([
  [['contact:read', 'petition:read'], 'contact.list-contacts'],
  [['event:read'], 'event.list-events'],
  [['team:read'], 'team.list-members'],
  [['organization:read', 'contact:read'], 'organization.get-organization'],
])('a new key with %j is tried with what it may', async (scopes, operation) => {
  const form = [
    ['name', `Key ${operation}`],
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

it('what is taken is said at its field', async () => {
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
  ['text', 'Dieses Bild lässt sich nicht verwenden'],
  ['\x89PNG\r\n\x1a\nbroken', 'Dieses Bild ist beschädigt|Dieses Bild lässt sich nicht verwenden'],
])('what is no picture is said at its field, in words: %j', async (content, says) => {
  const german = owner.at(api.origin, 'de');
  const file = { field: 'file', name: 'x.png', type: 'image/png', content };
  const { status, text } = await patiently(() => german.upload(at('images/new'), file, { name: 'X' }));
  expect([status, text]).toEqual([422, expect.stringMatching(`<a href="#file">[^<]*(${says})`)]);
});
