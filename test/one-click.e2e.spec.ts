import { schemaOf } from '#libs/projections';
import { newId } from '#libs/random';
import { projections } from '../src/modules.js';
import { type Client } from './harness.js';
import { call, linkIn, type PetitionPage, Public } from './petition-page.js';
import { eventually } from './processes.js';

const DAY = 86_400_000;

let people: Public;
let client: Client;
beforeAll(async () => {
  people = await Public.start({ instances: 2 });
});
afterAll(() => people.stop());
beforeEach(async () => {
  client = await people.api.organization();
  await call(client, 'organization.update-organization', {
    mailFrom: { name: 'Rivers', address: 'office@example.org' },
    postalAddress: '1 Quay',
  });
});

type Person = { contactId: string; email: string };
async function person(fields: object = {}): Promise<Person> {
  const email = `${newId()}@example.org`;
  const { organizationId } = client;
  const { contactId } = await call(client, 'contact.create-contact', {
    ...{ organizationId, email, subscribed: true, firstName: 'Ada', lastName: 'Lovelace' },
    ...fields,
  });
  return { contactId, email };
}

/** Asks everyone who has not signed yet. @returns the id of the broadcast. */
async function ask({ petitionId }: PetitionPage): Promise<string> {
  const { broadcastId } = await call(client, 'broadcast.create-broadcast', {
    name: `Sign, ${newId()}`,
    content: '[Sign]({{ petition.signUrl }})',
    audience: { all: true, excludePetitionIds: [petitionId] },
  });
  await call(client, 'broadcast.send-broadcast', { broadcastId });
  return broadcastId;
}

/** Asks everyone who has not signed yet. @returns the paths of the links that these people received. */
async function linksFor(page: PetitionPage, ...asked: Person[]): Promise<string[]> {
  const broadcastId = await ask(page);
  await eventually(async () => {
    const { status } = (await client.get('broadcast.get-broadcast', { broadcastId })).body.data;
    const mails = asked.map(({ email }) => people.mailsTo(email).length);
    expect([status, mails]).toEqual(['SENT', asked.map(() => 1)]);
  });
  return asked.map(({ email }) => linkIn(people.mailsTo(email)[0]!, 'sign'));
}
const linkFor = async (page: PetitionPage, one: Person) => (await linksFor(page, one))[0]!;

const signatures = async ({ petitionId }: PetitionPage) =>
  (await client.get('petition.list-signatures', { petitionId })).body.data;
const BUTTON = '<button class="button">Sign as Ada Lovelace</button>';

it('shows the name and a button, changes nothing until it is pressed, and then counts once on every instance', async () => {
  const page = await people.petition({ confirmation: 'EMAIL' }, client);
  const ada = await person();
  const link = await linkFor(page, ada);
  expect(link.startsWith(`${page.path}/sign/`)).toBe(true);
  const before = await people.api.eventTypes(client.organizationId);
  for (const method of ['GET', 'HEAD', 'OPTIONS']) {
    const headers = { Accept: 'text/html', Purpose: 'prefetch', 'Sec-Purpose': 'prefetch' };
    await fetch(people.api.origin + link, { method, headers });
  }
  const { status, headers, text } = await people.get(link);
  expect([status, headers.get('cache-control'), headers.get('referrer-policy')]).toEqual([
    200,
    'private, no-store',
    'no-referrer',
  ]);
  expect(text).toContain(BUTTON);
  expect(text).toContain(`<a href="${page.path}#sign">Not you?`);
  expect(await people.api.eventTypes(client.organizationId)).toEqual(before);
  // The usual form names no one, also after the personal page was shown.
  const usual = await people.get(page.path);
  expect(usual.text).toContain('name="email"');
  expect(usual.text).not.toContain('Lovelace');

  const pressed = await Promise.all([0, 1, 0, 1].map((at) => people.post(link, {}, { at })));
  expect(pressed.map(({ status, location }) => [status, location])).toEqual(Array(4).fill([303, link]));
  for (const { origin } of people.api.instances) {
    const thanks = await fetch(origin + link, { headers: { Accept: 'text/html' } });
    expect(await thanks.text()).toMatch(/<h1>Thank you for signing<\/h1>[^]*1 signature/);
  }
  expect(await signatures(page)).toMatchObject([{ contactId: ada.contactId, source: 'email' }]);
  const { body } = await client.get('history.list-events', { type: 'PetitionSigned' });
  expect(body.data).toMatchObject([
    { actor: { type: 'public' }, data: { broadcastId: expect.any(String), language: 'en' } },
  ]);
});

it('signs neither from a preview nor from a test, and names no one there', async () => {
  const page = await people.petition({}, client);
  const { contactId } = await person();
  const { broadcastId } = await call(client, 'broadcast.create-broadcast', {
    name: 'Sign',
    content: '[Sign]({{ petition.signUrl }})',
    audience: { all: true, excludePetitionIds: [page.petitionId] },
  });
  const preview = await client.get('broadcast.preview-broadcast', { broadcastId, contactId });
  expect(preview.body.data.text).toContain(`<https://act.example.org${page.path}>`);
  expect(preview.body.data.text).not.toContain('/sign/');
});

it('sends the form of another site to the page, and signs nothing', async () => {
  const page = await people.petition({}, client);
  const link = await linkFor(page, await person());
  for (const site of ['cross-site', 'same-site']) {
    const { status } = await fetch(people.api.origin + link, {
      ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams() },
      headers: { Origin: 'https://evil.example', 'Sec-Fetch-Site': site },
    });
    expect([site, status]).toEqual([site, 303]);
  }
  expect(await signatures(page)).toEqual([]);
});

describe('leads to the usual form and signs nothing', () => {
  const leads = async (link: string, to: string) => {
    const shown = await people.get(link);
    const pressed = await people.post(link, {});
    expect([shown.status, shown.location, pressed.status]).toEqual([302, to, 303]);
    expect(shown.text + pressed.text).not.toContain('Lovelace');
  };

  it('if the link was changed, is for another petition, or is 60 days old', async () => {
    const [page, other] = [await people.petition({}, client), await people.petition({ name: 'Dam' }, client)];
    const link = await linkFor(page, await person());
    const token = link.slice(-107);
    for (const wrong of [`A${token.slice(1)}`, `${token.slice(0, -1)}A`, token.slice(1), 'x'])
      await leads(`${page.path}/sign/${wrong === token ? 'x' : wrong}`, page.path);
    await leads(`${other.path}/sign/${token}`, other.path);
    const foreign = await people.petition();
    await leads(`${foreign.path}/sign/${token}`, foreign.path);
    // Not with another clock, because ids that were created in the future would outlive this file.
    const setStart = (startedAt: Date) =>
      people.api.database.source.query(
        `UPDATE ${schemaOf(projections.find(({ name }) => name === 'broadcasts')!)}.broadcasts
         SET state = state || jsonb_build_object('startedAt', $2::text) WHERE organization_id = $1`,
        [client.organizationId, startedAt.toISOString()],
      );
    await setStart(new Date(Date.now() - 61 * DAY));
    await leads(link, page.path);
    await setStart(new Date());
    expect(await signatures(page)).toEqual([]);
    expect((await people.get(link)).text).toContain(BUTTON);
  });

  it('if the contact was erased', async () => {
    const page = await people.petition({}, client);
    const ada = await person();
    const link = await linkFor(page, ada);
    await client.delete('contact.delete-contact', { contactId: ada.contactId });
    await leads(link, page.path);
    expect(await signatures(page)).toEqual([]);
  });

  it('if the broadcast was cancelled and then deleted', async () => {
    const page = await people.petition({}, client);
    const [ada, unreachable] = [await person(), await person()];
    await people.mail.behave({ dreads: unreachable.email });
    const broadcastId = await ask(page);
    await eventually(() => expect(people.mailsTo(ada.email)).toHaveLength(1));
    await call(client, 'broadcast.cancel-broadcast', { broadcastId });
    await people.mail.behave({});
    const link = linkIn(people.mailsTo(ada.email)[0]!, 'sign');
    expect((await people.get(link)).text).toContain(BUTTON);
    await client.delete('broadcast.delete-broadcast', { broadcastId });
    await leads(link, page.path);
    expect(await signatures(page)).toEqual([]);
  });

  it('if the petition is closed; once it is deleted, the page does not exist', async () => {
    const page = await people.petition({}, client);
    const link = await linkFor(page, await person());
    await call(client, 'petition.close-petition', { petitionId: page.petitionId });
    await eventually(async () => expect((await people.get(page.path)).text).toContain('is closed'));
    await leads(link, page.path);
    expect(await signatures(page)).toEqual([]);
    await client.delete('petition.delete-petition', { petitionId: page.petitionId });
    await eventually(async () => expect((await people.get(link)).status).toBe(404));
    expect((await people.post(link, {})).status).toBe(404);
  });
});

it('signs for the contact that the recipient was merged into, and for suppressed ones, whom it does not resubscribe', async () => {
  const page = await people.petition({}, client);
  const [ada, kept] = [await person(), await person({ firstName: 'Augusta' })];
  const link = await linkFor(page, ada);
  await call(client, 'contact.merge-contacts', { contactId: kept.contactId, otherIds: [ada.contactId] });
  await call(client, 'suppression.create-suppression', { email: kept.email, reason: 'COMPLAINED' });
  expect((await people.get(link)).text).toContain('Sign as Augusta Lovelace');
  await people.post(link, {});
  expect(await signatures(page)).toMatchObject([{ contactId: kept.contactId }]);
  const { data } = (await client.get('suppression.list-suppressions')).body;
  expect(data).toMatchObject([{ email: kept.email }]);
  // Signing on the page with the same address is the same signature.
  const { signatureId } = await call(client, 'petition.add-signature', {
    petitionId: page.petitionId,
    contact: { email: kept.email },
  });
  expect(await signatures(page)).toMatchObject([{ id: signatureId }]);
});

it('counts one signature if two contacts sign on two instances while they are merged, and none if they are erased then', async () => {
  const page = await people.petition({}, client);
  const [ada, kept, gone] = [await person(), await person(), await person()];
  const [first, second, third] = (await linksFor(page, ada, kept, gone)) as [string, string, string];
  const press = (link: string, at: number) => people.post(link, {}, { at });
  await Promise.all([
    ...[press(first, 0), press(second, 1), press(second, 0), press(first, 1)],
    call(client, 'contact.merge-contacts', { contactId: kept.contactId, otherIds: [ada.contactId] }),
    ...[
      press(third, 1),
      client.delete('contact.delete-contact', { contactId: gone.contactId }),
      press(third, 0),
    ],
  ]);
  await Promise.all([press(first, 1), press(second, 0), press(third, 0)]);
  expect(await signatures(page)).toMatchObject([{ contactId: kept.contactId }]);
  const { petitionId } = page;
  expect((await client.get('petition.get-petition', { petitionId })).body.data.signatures).toBe(1);
  expect((await people.get(third)).location).toBe(page.path);
});

it('leaves an invalidated signature invalid, and signs again after it was removed', async () => {
  const page = await people.petition({}, client);
  const { petitionId } = page;
  const ada = await person();
  const link = await linkFor(page, ada);
  const counted = async () =>
    (await client.get('petition.get-petition', { petitionId })).body.data.signatures as number;
  await people.post(link, {});
  const [{ id }] = await signatures(page);
  const invalid = { petitionId, signatureIds: [id] };
  const { invalidationId } = await call(client, 'petition.invalidate-signatures', invalid);
  await people.post(link, {});
  expect(await counted()).toBe(0);
  await call(client, 'petition.restore-signatures', { invalidationId });
  expect(await counted()).toBe(1);
  await client.delete('petition.remove-signature', { petitionId, contactId: ada.contactId });
  await people.post(link, {});
  expect(await counted()).toBe(1);
});

it('counts clicks on links that are the same for everyone, once per network, and leads nowhere else', async () => {
  const ada = await person();
  const content =
    '[News](https://example.org/news?a=1&b=2) [Yours](https://example.org/?me={{ contact.email }})';
  const { broadcastId } = await call(client, 'broadcast.create-broadcast', {
    ...{ name: newId(), content, countClicks: true, audience: { contactIds: [ada.contactId] } },
  });
  const shown = async () => (await client.get('broadcast.get-broadcast', { broadcastId })).body.data;
  expect(await shown()).toMatchObject({ countClicks: true, clicks: null });
  const preview = (await client.get('broadcast.preview-broadcast', { broadcastId })).body.data;
  expect(preview.html).toContain('href="https://example.org/news?a=1&amp;b=2"');
  await call(client, 'broadcast.send-broadcast', { broadcastId });
  await eventually(async () => expect((await shown()).status).toBe('SENT'));
  const whole = people
    .mailsTo(ada.email)[0]!
    .content!.replace(/=\r?\n/g, '')
    .replaceAll('=3D', '=');
  const path = `/l/${broadcastId}/1`;
  expect(whole).toContain(`href="https://act.example.org${path}"`);
  expect(whole).toMatch(/href="https:\/\/example\.org\/\?me=/);
  // The text says where the link leads.
  expect(whole).toContain('https://example.org/news?a=1&b=2');

  const click = async (from: string, init: RequestInit = {}, at = path) => {
    const { origin } = people.api;
    const headers = { 'X-Forwarded-For': from, ...init.headers };
    const { status, headers: sent } = await fetch(origin + at, { redirect: 'manual', ...init, headers });
    return [status, sent.get('location')];
  };
  const there = [302, 'https://example.org/news?a=1&b=2'];
  expect(await click('192.0.2.1')).toEqual(there);
  expect(await click('192.0.2.1')).toEqual(there);
  expect(await click('192.0.2.2', {}, `${path}?url=https://evil.example`)).toEqual(there);
  expect(await click('192.0.2.3', { method: 'HEAD' })).toEqual(there);
  expect(await click('192.0.2.4', { headers: { 'Sec-Purpose': 'prefetch' } })).toEqual(there);
  expect(await click('192.0.2.5', { headers: { Purpose: 'prefetch' } })).toEqual(there);
  for (const wrong of [`/l/${broadcastId}/2`, `/l/${broadcastId}/0`, `/l/${newId()}/1`, '/l/x/1', '/l'])
    expect((await click('192.0.2.5', {}, wrong))[0]).toBe(404);
  for (const wrong of ['/l', '/l/x', '/l/x/1', `/l/${broadcastId}/2`, '/l/a/b/c/d?x'])
    expect(await people.get(wrong)).toMatchObject({
      status: 404,
      text: expect.stringContaining('<h1>Page not found</h1>'),
    });
  expect((await shown()).clicks).toEqual([{ url: there[1], clicks: 2 }]);
  const { status, body } = await client.post('organization.update-organization', { slug: 'l' });
  expect([status, body.error.issues?.[0]?.path]).toEqual([400, 'slug']);
});
