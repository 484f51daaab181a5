import { Projections } from '#libs/projections';
import { type RequestContext } from '#libs/rpc';
import { Suppressions } from '../src/suppressions/index.js';
import { type Answer, Api, type Client, differencesIn, ISO } from './harness.js';

let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start({ instances: 2 });
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

const suppress = (email: string, more: object = {}, headers = {}): Promise<Answer> =>
  client.post('suppression.create-suppression', { email, ...more }, headers);
const lift = (email: string): Promise<Answer> => client.delete('suppression.delete-suppression', { email });
const list = async (query: Record<string, string> = {}): Promise<any[]> =>
  (await client.get('suppression.list-suppressions', query)).body.data;
async function person(email: string): Promise<string> {
  const { organizationId } = client;
  return (await client.post('contact.create-contact', { organizationId, email })).body.data.contactId;
}
const erase = (contactId: string) => client.delete('contact.delete-contact', { contactId });
/** The exported history with all readable personal data. */
async function history(): Promise<string> {
  const { body } = await client.get('history.list-events', { limit: '1000' });
  return JSON.stringify(body) + JSON.stringify((await client.get('history.export-events')).body);
}
const events = async () =>
  (await api.eventTypes(client.organizationId)).filter((type) => type.includes('Suppress'));
const door = (instance = 0) => api.instances[instance]!.app.get(Suppressions, { strict: false });
const context = (): RequestContext => ({
  organizationId: client.organizationId,
  actor: { type: 'system', id: 'test' },
  scopes: ['*'],
  requestId: 'test',
});

it('create-suppression returns 200 and the same id for any form of the address, and list-suppressions returns every field', async () => {
  const { status, body } = await suppress('Ada@Example.org');
  expect([status, body]).toEqual([
    200,
    { data: { suppressionId: expect.any(String) }, object: 'suppression' },
  ]);
  const { suppressionId } = body.data;
  for (const [email, more] of [
    ['Ada@Example.org', {}],
    ['ada@example.org', {}],
    ['ADA@EXAMPLE.ORG', { reason: 'COMPLAINED' }],
  ] as const) {
    expect((await suppress(email, more)).body.data).toEqual({ suppressionId });
  }
  const answered = await client.get('suppression.list-suppressions');
  expect(answered.body).toEqual({
    data: [
      {
        id: suppressionId,
        createdAt: expect.stringMatching(ISO),
        reason: 'MANUAL',
        email: 'Ada@Example.org',
        organizationId: client.organizationId,
      },
    ],
    object: 'suppressions',
    pagination: { cursor: null, hasMore: false },
  });
  expect(await events()).toEqual(['AddressSuppressed', 'SuppressedAddressNoted', 'AddressSuppressed']);
});

it('create-suppression records one suppression for fifty parallel requests, without the address in the event', async () => {
  const twins = await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      client
        .at(api.instances[n % 2]!.origin)
        .post('suppression.create-suppression', { email: 'ada@example.org' }),
    ),
  );
  expect(new Set(twins.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  expect(await events()).toEqual(['AddressSuppressed', 'SuppressedAddressNoted']);
  const { source } = api.database;
  const rows = await source.query('SELECT data::text FROM events WHERE organization_id = $1', [
    client.organizationId,
  ]);
  expect(JSON.stringify(rows)).not.toMatch(/ada@example/i);
});

it.each([
  ['no address', { email: undefined }, 'email'],
  ['an invalid address', { email: 'ada' }, 'email'],
  ['an unknown reason', { email: 'ada@example.org', reason: 'BORED' }, 'reason'],
])('create-suppression returns 400 for %s', async (_, fields, path) => {
  const { status, body } = await client.post('suppression.create-suppression', fields);
  expect([status, body.error.issues[0].path]).toEqual([400, path]);
});

it('list-suppressions filters by address and reason, paginates, and never includes other organizations', async () => {
  for (const [email, reason] of [
    ['ada@example.org', 'BOUNCED'],
    ['grace@example.org', 'UNSUBSCRIBED'],
    ['wangari@example.org', 'BOUNCED'],
  ]) {
    await suppress(email!, { reason });
  }
  const emails = (records: any[]) => records.map(({ email }) => email);
  expect(emails(await list({ email: 'GRACE@example.org' }))).toEqual(['grace@example.org']);
  expect(await list({ email: 'nobody@example.org' })).toEqual([]);
  expect(emails(await list({ reason: 'BOUNCED', sort: 'createdAt' }))).toEqual([
    'ada@example.org',
    'wangari@example.org',
  ]);
  expect(await list({ email: 'ada@example.org', reason: 'MANUAL' })).toEqual([]);
  const { body } = await client.get('suppression.list-suppressions', { limit: '2', sort: 'createdAt' });
  expect(emails(body.data)).toEqual(['ada@example.org', 'grace@example.org']);
  const rest = await list({ limit: '2', sort: 'createdAt', cursor: body.pagination.cursor });
  expect(emails(rest)).toEqual(['wangari@example.org']);

  const other = await api.organization();
  expect((await other.get('suppression.list-suppressions', { email: 'ada@example.org' })).body.data).toEqual(
    [],
  );
  expect((await other.delete('suppression.delete-suppression', { email: 'ada@example.org' })).status).toBe(
    404,
  );
  const { body: theirs } = await other.post('suppression.create-suppression', { email: 'ada@example.org' });
  expect((await list()).map(({ id }) => id)).not.toContain(theirs.data.suppressionId);
  expect(await door().areSuppressed(other.organizationId, ['grace@example.org'])).toEqual(new Set());
});

it('delete-suppression returns 200 for repeats and 404 for unknown addresses, and makes the address unreadable', async () => {
  expect((await lift('ada@example.org')).status).toBe(404);
  const { suppressionId } = (await suppress('ada@example.org')).body.data;
  await suppress('ada@example.org', { reason: 'BOUNCED' });
  for (let n = 0; n < 2; n += 1) {
    const { status, body } = await lift('Ada@example.org');
    expect([status, body]).toEqual([200, { data: { suppressionId }, object: 'suppression' }]);
  }
  expect(await list()).toEqual([]);
  expect(await history()).not.toMatch(/ada@example/i);

  const before = Date.now();
  expect((await suppress('ada@example.org')).body.data).toEqual({ suppressionId });
  const [again] = await list();
  expect(again).toMatchObject({ id: suppressionId, email: 'ada@example.org', reason: 'MANUAL' });
  expect(Date.parse(again.createdAt)).toBeGreaterThanOrEqual(before - 1_000);
});

it('a repeated Idempotency-Key returns the first response even after the suppression was lifted', async () => {
  const key = { 'Idempotency-Key': 'once' };
  const first = await suppress('ada@example.org', {}, key);
  await lift('ada@example.org');
  expect((await suppress('ada@example.org', {}, key)).body).toEqual(first.body);
  expect(await list()).toEqual([]);
  expect((await suppress('grace@example.org', {}, key)).status).toBe(422);
});

describe('an erased contact', () => {
  async function forgotten(...emails: string[]): Promise<void> {
    const readable = await history();
    for (const email of emails) {
      expect([email, readable.toLowerCase().includes(email)]).toEqual([email, false]);
      expect(await list({ email })).toMatchObject([{ email: null }]);
    }
    expect(await door(1).areSuppressed(client.organizationId, emails)).toEqual(new Set(emails));
  }

  it('stays suppressed with a null address, whether suppressed before or after they became a contact', async () => {
    await suppress('before@example.org');
    const before = await person('before@example.org');
    const after = await person('after@example.org');
    await suppress('after@example.org', { reason: 'UNSUBSCRIBED' });
    await suppress('kept@example.org');
    await erase(before);
    await erase(after);
    await forgotten('before@example.org', 'after@example.org');
    expect(await list({ email: 'kept@example.org' })).toMatchObject([{ email: 'kept@example.org' }]);
    await erase(before);

    // After another import it is still suppressed.
    const csv = 'email\nbefore@example.org\n';
    const type = { 'Content-Type': 'text/csv' };
    expect(
      (await client.request('POST', '/v1/contact.import-contacts?subscribed=true', csv, type)).status,
    ).toBe(200);
    const imported = await door().areSuppressed(client.organizationId, ['before@example.org']);
    expect(imported.size).toBe(1);
    await suppress('before@example.org');
    expect(await list({ email: 'before@example.org' })).toMatchObject([{ email: null, reason: 'MANUAL' }]);
    await suppress('before@example.org', { reason: 'COMPLAINED' });
    expect(await list({ email: 'before@example.org' })).toMatchObject([{ email: 'before@example.org' }]);
  });

  it('loses all suppressed former addresses, too', async () => {
    for (const name of ['one', 'two', 'three']) await suppress(`${name}@example.org`);
    const contactId = await person('one@example.org');
    await client.post('contact.update-contact', { contactId, city: 'Nairobi' });
    for (const email of ['two@example.org', 'three@example.org']) {
      await client.post('contact.update-contact', { contactId, email });
    }
    await suppress('one@example.org', { reason: 'BOUNCED' });
    await erase(contactId);
    await forgotten('one@example.org', 'two@example.org', 'three@example.org');
    expect((await lift('one@example.org')).status).toBe(200);
  });

  it('never leaves a readable address if others suppress and lift it at the same time', async () => {
    for (let round = 0; round < 8; round += 1) {
      const email = `race${round}@example.org`;
      if (round % 2 === 0) await suppress(email);
      const contactId = await person(email);
      const there = door(round % 2);
      await Promise.all([
        erase(contactId),
        there.suppress(client.organizationId, email, 'UNSUBSCRIBED', context()),
        there.suppress(client.organizationId, email, 'BOUNCED', context()),
      ]);
      expect(await list({ email })).toMatchObject([{ email: null }]);
    }
    expect(await history()).not.toMatch(/race\d@example/);
  });
});

describe('the service for other modules', () => {
  it('areSuppressed returns the suppressed ones of a thousand addresses as given, immediately on every instance', async () => {
    const emails = Array.from({ length: 1_000 }, (_, n) => `Person${n}@example.org`);
    for (const n of [3, 500, 999])
      await door().suppress(client.organizationId, `person${n}@example.org`, 'MANUAL', context());
    expect(await door(1).areSuppressed(client.organizationId, emails)).toEqual(
      new Set([emails[3], emails[500], emails[999]]),
    );
    expect(await door().areSuppressed(client.organizationId, [])).toEqual(new Set());
  });

  it('suppress and unsuppress take effect once, and one reason does not affect the others', async () => {
    const { organizationId } = client;
    const contactId = await person('ada@example.org');
    for (let n = 0; n < 2; n += 1) {
      await door().suppress(organizationId, 'ada@example.org', 'UNSUBSCRIBED', context());
      await door().suppress(organizationId, 'ADA@example.org', 'COMPLAINED', context());
    }
    expect(await list()).toMatchObject([{ reason: 'UNSUBSCRIBED', email: 'ADA@example.org' }]);
    for (let n = 0; n < 2; n += 1) {
      await door().unsuppress(organizationId, 'ada@example.org', context(), 'UNSUBSCRIBED');
    }
    expect(await list()).toMatchObject([{ reason: 'COMPLAINED' }]);
    await door().unsuppress(organizationId, 'ada@example.org', context());
    expect(await list()).toEqual([]);
    await door().unsuppress(organizationId, 'nobody@example.org', context());
    expect(await events()).toEqual([
      'AddressSuppressed',
      'AddressSuppressed',
      'SuppressionEnded',
      'SuppressionEnded',
    ]);
    await erase(contactId);
    expect(await history()).not.toMatch(/ada@example/i);
  });

  it('suppress does not store the address of someone who is not a contact', async () => {
    await door().suppress(client.organizationId, 'nobody@example.org', 'BOUNCED', context());
    expect(await list({ email: 'nobody@example.org' })).toMatchObject([{ email: null, reason: 'BOUNCED' }]);
    expect(await history()).not.toMatch(/nobody@example/);
    await lift('nobody@example.org');
    expect(await list()).toEqual([]);
  });
});

it('the projection matches a rebuild', async () => {
  for (const instance of api.instances) {
    const projections = instance.app.get(Projections, { strict: false });
    expect(await differencesIn(projections, 'suppressions')).toEqual([]);
    await projections.maintenance.rebuild('suppressions');
    expect(await differencesIn(projections, 'suppressions')).toEqual([]);
  }
});
