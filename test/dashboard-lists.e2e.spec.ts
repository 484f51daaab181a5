import { SharedApi, type Client } from './harness.js';
import { signedIn, type Visitor } from './people-in.js';
import { call } from './petition-page.js';

/** What the dashboard’s lists find and export, and the states of API keys. */

let api: SharedApi;
let client: Client;
let owner: Visitor;
beforeAll(async () => {
  api = await SharedApi.open();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
  owner = await signedIn(api, client, 'OWNER', 'owner@example.org');
});

const at = (path: string) => `/dashboard/${client.organizationId}/${path}`;
const get = async (path: string) => (await owner.get(at(path))).text;
const newContact = (firstName: string) =>
  call(client, 'contact.create-contact', {
    organizationId: client.organizationId,
    firstName,
    email: `${firstName}@example.org`,
  });
/** The lines of the page's export. */
async function downloaded(page: string): Promise<string[]> {
  const [, href = ''] = /<a href="([^"]*\/export[^"]*)"/.exec(await get(page)) ?? [];
  const { status, text } = await owner.get(href.replaceAll('&amp;', '&'));
  expect(status).toBe(200);
  return text.trim().split('\n');
}

describe('a search also applies to the export', () => {
  it('of contacts', async () => {
    for (const firstName of ['Rita', 'Ada', 'Grace']) await newContact(firstName);
    expect(await downloaded('contacts')).toHaveLength(4);
    const found = await downloaded('contacts?q=rita&subscribed=true');
    expect(found).toHaveLength(2);
    expect(found[1]).toContain('Rita');
  });

  it('of signatures', async () => {
    const { petitionId } = await call(client, 'petition.create-petition', { name: 'Save the river' });
    await call(client, 'petition.publish-petition', { petitionId });
    for (const firstName of ['Sigrid', 'Ada'])
      await call(client, 'petition.add-signature', {
        petitionId,
        contact: { firstName, email: `${firstName}@example.org` },
      });
    expect(await downloaded(`petitions/${petitionId}/signatures`)).toHaveLength(3);
    const found = await downloaded(`petitions/${petitionId}/signatures?q=sigrid`);
    expect(found).toHaveLength(2);
    expect(found[1]).toContain('Sigrid');
  });

  it('of members and invitations, which are searched by address', async () => {
    await signedIn(api, client, 'EDITOR', 'ada@example.org');
    for (const name of ['grace', 'edith'])
      await call(client, 'team.invite-member', { email: `${name}@example.net`, role: 'VIEWER' });
    const text = await get('team?q=ADA');
    expect(text).toContain('ada@example.org');
    expect(text).not.toContain('owner@example.org');
    expect(await downloaded('team?q=ADA')).toHaveLength(2);
    expect(await get('team/invitations?q=grace')).not.toContain('edith@example.net');
    expect(await downloaded('team/invitations?q=grace')).toHaveLength(2);
    expect(await get('team?q=nobody')).toContain('Nothing found');
  });
});

it('announces the number of results to screen readers', async () => {
  for (const firstName of ['Rita', 'Ada']) await newContact(firstName);
  const says = async (path: string) => /id="found" role="status">([^<]*)</.exec(await get(path))?.[1];
  expect(await says('contacts?q=rita')).toBe('1 found');
  expect(await says('contacts?q=nobody')).toBe('Nothing found');
});

it('sends a user whose session ended while typing to the sign-in page instead of an empty list', async () => {
  await owner.post('/dashboard/sign-out');
  const { status, headers, text } = await owner.get(at('contacts?q=ada'), { 'HX-Request': 'true' });
  expect([status, text]).toEqual([200, '']);
  expect(headers.get('hx-redirect')).toBe('/dashboard/sign-in');
});

describe('an API key that was rotated', () => {
  let keyId: string;
  beforeEach(async () => {
    await call(client, 'api-key.create-api-key', { name: 'Website', scopes: ['list:read'] });
    const { data } = (await client.get('api-key.list-api-keys', { limit: '100' })).body;
    keyId = data.find(({ name }: { name: string }) => name === 'Website').id;
  });

  it('stays active until its overlap ends, and can be revoked before that', async () => {
    const done = await owner.post(at(`keys/${keyId}/rotate`), { overlapSeconds: '3600' });
    expect(done.status).toBe(200);
    const page = await get(`keys/${keyId}`);
    expect(page).toMatch(/Rotated, active until \d/);
    expect(page).toContain(`keys/${keyId}/revoke"`);
    // It already has a successor.
    expect(page).not.toContain(`keys/${keyId}/rotate"`);
    expect((await owner.post(at(`keys/${keyId}/revoke`))).status).toBe(303);
    const ended = await get(`keys/${keyId}`);
    expect(ended).toContain('Revoked');
    expect(ended).not.toContain(`keys/${keyId}/revoke"`);
  });

  it('keeps working for each overlap offered', async () => {
    const [, select = ''] = /<select id="overlapSeconds"[^>]*>([\s\S]*?)<\/select>/.exec(
      await get(`keys/${keyId}/rotate`),
    )!;
    const offered = [...select.matchAll(/value="(\d+)"/g)].map(([, value]) => value!);
    expect(offered.length).toBeGreaterThan(2);
    for (const overlapSeconds of offered) {
      await call(client, 'api-key.create-api-key', { name: `For ${overlapSeconds}`, scopes: ['list:read'] });
      const { data } = (await client.get('api-key.list-api-keys', { limit: '100' })).body;
      const { id } = data.find(({ name }: { name: string }) => name === `For ${overlapSeconds}`);
      expect((await owner.post(at(`keys/${id}/rotate`), { overlapSeconds })).status).toBe(200);
    }
  });
});
