import { newId } from '#libs/random';
import { NOBODY as PERSON_OF_TESTS, unsubscribeToken } from '../src/broadcasts/index.js';
import { Api, type Client, NOBODY } from './harness.js';
import { isLong } from './length.js';

let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start({ instances: 2 });
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
  const mailFrom = { name: 'Rivers & <Sons>', address: 'office@example.org' };
  await client.post('organization.update-organization', { mailFrom, language: 'de' });
});

async function person(email = 'ada@example.org'): Promise<string> {
  const { organizationId } = client;
  return (await client.post('contact.create-contact', { organizationId, email })).body.data.contactId;
}
function linkFor(contactId: string, more: object = {}): string {
  const { organizationId } = client;
  const { keyring } = api.instances[0]!.runtime.store;
  return `/u/${unsubscribeToken(keyring, { organizationId, contactId, broadcastId: NOBODY, ...more })}`;
}
const page = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${api.origin}${path}`, { headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
};
const press = (path: string, body: string, more: RequestInit = {}) =>
  fetch(`${api.origin}${path}`, {
    method: 'POST',
    body,
    redirect: 'manual',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    ...more,
  });
const isSubscribed = async (contactId: string) => {
  const { organizationId } = client;
  return (await client.get('contact.get-contact', { contactId, organizationId })).body.data.subscribed;
};
const suppressions = async () => (await client.get('suppression.list-suppressions')).body.data;

it('shows the sender and one button in the organization’s language, and opening it changes nothing', async () => {
  const contactId = await person();
  const { status, headers, text } = await page(linkFor(contactId));
  expect(status).toBe(200);
  expect(text).toContain('<html lang="de">');
  expect(text).toContain('keine E‑Mails mehr von Rivers &amp; &lt;Sons&gt;');
  expect(text).toMatch(
    /<form method="post">[^]*<button name="action" value="unsubscribe">Abmelden<\/button>/,
  );
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  expect(headers.get('cache-control')).toBe('private, no-store');
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
  // Mail scanners follow links with any method except POST.
  for (const method of ['GET', 'HEAD', 'OPTIONS'])
    await fetch(`${api.origin}${linkFor(contactId)}`, { method });
  expect([await isSubscribed(contactId), await suppressions()]).toEqual([true, []]);
});

it('unsubscribes with the button, confirms it, and undoes it', async () => {
  const contactId = await person();
  const link = linkFor(contactId);
  const pressed = await press(link, 'action=unsubscribe');
  expect([pressed.status, pressed.headers.get('location')]).toEqual([303, link]);
  expect(await isSubscribed(contactId)).toBe(false);
  expect(await suppressions()).toMatchObject([{ email: 'ada@example.org', reason: 'UNSUBSCRIBED' }]);
  const { text } = await page(link);
  expect(text).toContain('<h1>Sie sind abgemeldet</h1>');
  expect(text).toContain('<button name="action" value="subscribe">Wieder anmelden</button>');
  // A repeat has no further effect.
  const before = await api.eventTypes(client.organizationId);
  await press(link, 'action=unsubscribe');
  expect(await api.eventTypes(client.organizationId)).toEqual(before);

  const returned = await press(link, 'action=subscribe');
  expect([returned.status, returned.headers.get('location')]).toEqual([303, `${link}?subscribed`]);
  expect([await isSubscribed(contactId), await suppressions()]).toEqual([true, []]);
  expect((await page(`${link}?subscribed`)).text).toMatch(
    /<h1>Sie sind wieder angemeldet<\/h1>[^]*>Abmelden<\/button>/,
  );
  expect((await page(link)).text).toContain('<h1>Abmelden</h1>');
  // The page shows the actual state, not that in the URL.
  await press(link, 'action=unsubscribe');
  expect((await page(`${link}?subscribed`)).text).toContain('<h1>Sie sind abgemeldet</h1>');
});

it.each([
  ['application/x-www-form-urlencoded', 'List-Unsubscribe=One-Click'],
  [
    'multipart/form-data; boundary=x',
    '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n',
  ],
])('unsubscribes with one click in a mail program: %s', async (type, body) => {
  const contactId = await person();
  const response = await press(linkFor(contactId), body, { headers: { 'Content-Type': type } });
  expect([response.status, await isSubscribed(contactId)]).toEqual([200, false]);
});

it('records what the person saw, and in which language', async () => {
  const contactId = await person();
  const link = linkFor(contactId);
  await press(link, 'action=unsubscribe');
  await press(link, 'action=subscribe');
  await press(link, 'List-Unsubscribe=One-Click');
  const { data } = (await client.get('contact.list-consents', { contactId })).body;
  const page = { source: 'Unsubscribe page', language: 'de', ip: expect.stringMatching(/^(127|::1)/) };
  const off = 'Möchten Sie keine E‑Mails mehr von Rivers & <Sons> erhalten? Abmelden';
  const on = 'Sie erhalten keine E‑Mails mehr von Rivers & <Sons>. Versehentlich abgemeldet? Wieder anmelden';
  expect(data).toMatchObject([
    { given: false, source: 'List-Unsubscribe', text: null, language: null, ip: null },
    { given: true, ...page, text: on },
    { given: false, ...page, text: off },
    { given: true, source: null },
  ]);
});

it('undoes only its own suppression', async () => {
  const contactId = await person();
  await client.post('suppression.create-suppression', { email: 'ada@example.org', reason: 'COMPLAINED' });
  await press(linkFor(contactId), 'action=unsubscribe');
  await press(linkFor(contactId), 'action=subscribe');
  expect(await suppressions()).toMatchObject([{ reason: 'COMPLAINED' }]);
  // The page shows no button, because it would have no effect.
  const { text } = await page(linkFor(contactId));
  expect(text).toContain('<h1>Sie sind abgemeldet</h1>');
  expect(text).not.toContain('<button');
});

it('shows the page without effect from a test email', async () => {
  const link = linkFor(PERSON_OF_TESTS);
  expect((await press(link, 'action=unsubscribe')).status).toBe(303);
  expect((await page(link)).text).toContain('<h1>Abmelden</h1>');
  expect(await suppressions()).toEqual([]);
});

it('returns no error and reveals nothing for forged, changed, foreign and erased links', async () => {
  const contactId = await person();
  const link = linkFor(contactId);
  const other = await api.organization();
  const foreign = linkFor(contactId, { organizationId: other.organizationId });
  const forged = [
    '/u/x',
    '/u/%00',
    `${link.slice(0, -1)}${link.endsWith('A') ? 'B' : 'A'}`,
    `${link}A`,
    `/u/${'A'.repeat(86)}`,
    `/u/${encodeURIComponent('<script>')}`,
  ];
  for (const path of forged) {
    const { status, text } = await page(path, { 'Accept-Language': 'fr-CH, en' });
    expect([path, status]).toEqual([path, 200]);
    expect(text).toContain('<html lang="fr">');
    expect(text).not.toContain('Rivers');
    expect([303, 200]).toContain((await press(path, 'action=unsubscribe')).status);
    expect((await press(path, 'List-Unsubscribe=One-Click')).status).toBe(200);
  }
  for (const path of [foreign, linkFor(newId())]) {
    expect((await page(path)).status).toBe(200);
    expect((await press(path, 'List-Unsubscribe=One-Click')).status).toBe(200);
  }
  expect([await isSubscribed(contactId), await suppressions()]).toEqual([true, []]);

  await client.delete('contact.delete-contact', { contactId });
  const erased = await page(link);
  expect(erased.status).toBe(200);
  expect(erased.text).toContain('<h1>Sie sind abgemeldet</h1>');
  expect(erased.text).not.toContain('<button');
  expect(erased.text).not.toContain('ada@');
  for (const body of ['action=unsubscribe', 'action=subscribe'])
    expect((await press(link, body)).status).toBe(303);
});

it('handles a body of megabytes, an empty one, and many parallel clicks', async () => {
  const contactId = await person();
  const link = linkFor(contactId);
  expect((await press(link, 'x'.repeat(3_000_000))).status).toBe(303);
  expect((await press(link, '')).status).toBe(303);
  const clicks = await Promise.all(
    Array.from({ length: isLong ? 100 : 20 }, () => press(link, 'List-Unsubscribe=One-Click')),
  );
  expect(new Set(clicks.map(({ status }) => status))).toEqual(new Set([200]));
  expect(await isSubscribed(contactId)).toBe(false);
  const types = await api.eventTypes(client.organizationId);
  expect(types.filter((type) => type === 'ContactUnsubscribed')).toHaveLength(1);
});
