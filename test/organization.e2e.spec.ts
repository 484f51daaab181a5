import { RecordReader } from '#libs/commands';
import { senderOf } from '../src/organizations/index.js';
import { Api, Client, ISO, NOBODY } from './harness.js';

let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

const get = (query: Record<string, string> = {}) => client.get('organization.get-organization', query);
const update = (fields: object, headers: Record<string, string> = {}) =>
  client.post('organization.update-organization', fields, headers);

describe('get-organization', () => {
  it('returns 200 with every field, even with its own organizationId', async () => {
    const { organizationId } = client;
    const { status, body } = await get();
    expect([status, body]).toEqual([
      200,
      {
        data: {
          id: organizationId,
          createdAt: expect.stringMatching(ISO),
          updatedAt: expect.stringMatching(ISO),
          version: expect.any(Number),
          name: 'Test organization',
          website: null,
          email: null,
          country: null,
          publicLog: false,
          mailFrom: null,
          replyTo: null,
          postalAddress: null,
          language: 'en',
          slug: null,
          url: expect.stringMatching(new RegExp(`/${organizationId}$`)),
          colour: null,
          imageId: null,
          privacyUrl: null,
          timeZone: 'UTC',
          mailHook: expect.stringMatching(/^\/hooks\/mail\/[\w-]{43}$/),
        },
        object: 'organization',
      },
    ]);
    expect((await get({ organizationId })).body).toEqual(body);
  });

  it('asOf returns the organization as it was, and 404 before it existed', async () => {
    const before = (await get()).body;
    await api.moment();
    await update({ name: 'Clean Rivers' });
    expect((await get({ asOf: before.data.updatedAt })).body.data).toEqual(before.data);
    const earlier = await get({ asOf: '2001-01-01T00:00:00Z' });
    expect([earlier.status, earlier.body.error.code]).toEqual([404, 'NOT_FOUND']);
    expect(earlier.body.error.message).toContain('the time in asOf');
  });

  it('asOf returns whether the log was public, and updatedAt of that change', async () => {
    const moments: string[] = [(await get()).body.data.updatedAt];
    for (const publicLog of [true, false]) {
      await api.moment();
      moments.push((await update({ publicLog })).body.data.updatedAt);
    }
    expect(new Set(moments).size).toBe(3);
    const then = moments.map(async (asOf) => (await get({ asOf })).body.data);
    expect((await Promise.all(then)).map(({ updatedAt, publicLog }) => [updatedAt, publicLog])).toEqual([
      [moments[0], false],
      [moments[1], true],
      [moments[2], false],
    ]);
  });

  it('asOf returns the sender as it was', async () => {
    const before = (await update({ mailFrom: { address: 'a@rivers.example' }, language: 'de' })).body.data;
    await api.moment();
    const after = (await update({ mailFrom: null, language: 'fr' })).body.data;
    expect(after).toMatchObject({ mailFrom: null, language: 'fr' });
    expect(after.updatedAt > before.updatedAt).toBe(true);
    expect((await get({ asOf: before.updatedAt })).body.data).toEqual(before);
  });

  it('returns 400 for an invalid asOf', async () => {
    const { status, body } = await get({ asOf: 'yesterday' });
    expect([status, body.error.issues[0].path]).toEqual([400, 'asOf']);
  });
});

describe('update-organization', () => {
  const full = {
    name: 'Clean Rivers',
    website: 'https://rivers.example.org',
    email: 'office@rivers.example.org',
    country: 'Norway',
  };

  it('returns 200 with the whole organization: given fields change, null or an empty text clears, the rest stays', async () => {
    const first = await update(full);
    expect([first.status, first.body.object]).toEqual([200, 'organization']);
    expect(first.body.data).toMatchObject(full);
    const { body } = await update({ website: null, country: ' ', name: ' Rivers ' });
    expect(body.data).toMatchObject({ ...full, name: 'Rivers', website: null, country: null });
    expect((await get()).body).toEqual(body);
    const events = await api.database.source.query(
      `SELECT data FROM events WHERE organization_id = $1 AND type = 'OrganizationUpdated' ORDER BY version`,
      [client.organizationId],
    );
    expect(events).toEqual([{ data: full }, { data: { name: 'Rivers', website: null, country: null } }]);
  });

  const whole = {
    mailFrom: { name: 'Clean Rivers', address: 'news@rivers.example' },
    replyTo: 'answers@rivers.example',
    postalAddress: 'Clean Rivers\n1 Bank Street\nOslo',
    language: 'de',
  };

  it('sets the sender: given fields change, null clears, the rest stays', async () => {
    expect((await update(whole)).body.data).toMatchObject(whole);
    expect((await update({ ...full, ...whole })).body.data).toMatchObject({ ...full, ...whole });
    const { body } = await update({
      mailFrom: { address: 'us@rivers.example' },
      replyTo: null,
      postalAddress: ' ',
    });
    const changed = {
      mailFrom: { name: null, address: 'us@rivers.example' },
      replyTo: null,
      postalAddress: null,
    };
    expect(body.data).toMatchObject({ ...full, ...changed, language: 'de' });
    expect((await update({ mailFrom: null })).body.data.mailFrom).toBeNull();
    expect((await get()).body.data).toMatchObject({ ...full, ...changed, mailFrom: null, language: 'de' });
    const events = await api.database.source.query(
      `SELECT data FROM events WHERE organization_id = $1 AND type = 'SenderUpdated' ORDER BY version`,
      [client.organizationId],
    );
    expect(events).toEqual([{ data: whole }, { data: changed }, { data: { mailFrom: null } }]);
  });

  it('sets the sender that message builders use', async () => {
    await update({ ...whole, name: 'Rivers' });
    const [instance] = api.instances;
    const records = instance!.app.get(RecordReader);
    expect(await senderOf(records, client.organizationId)).toEqual({
      ...whole,
      ...{ name: 'Rivers', colour: null, imageId: null },
    });
    await expect(senderOf(records, NOBODY)).rejects.toThrow('This organization does not exist');
  });

  it('with an Idempotency-Key, returns the sender of the first response', async () => {
    const keyed = (fields: object, key: string) => update(fields, { 'Idempotency-Key': key });
    const first = await keyed({ ...whole, publicLog: true }, 'mail');
    const renamed = await keyed({ name: 'Rivers' }, 'name');
    await update({ mailFrom: null, language: 'es', publicLog: false });
    expect((await keyed({ ...whole, publicLog: true }, 'mail')).body).toEqual(first.body);
    expect((await keyed({ name: 'Rivers' }, 'name')).body).toEqual(renamed.body);
    expect(renamed.body.data).toMatchObject({ ...whole, publicLog: true });
    expect((await get()).body.data).toMatchObject({ mailFrom: null, language: 'es', publicLog: false });
  });

  it('returns 200 without an event if nothing changes', async () => {
    const first = await update(full);
    const before = await api.eventTypes(client.organizationId);
    for (const fields of [full, { name: full.name }, {}]) {
      expect((await update(fields)).body).toEqual(first.body);
    }
    expect(await api.eventTypes(client.organizationId)).toEqual(before);
  });

  it('returns the same 200 for 20 identical requests in parallel, including the log', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => update({ ...full, publicLog: true })));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    const types = await api.eventTypes(client.organizationId);
    expect(types.filter((type) => ['OrganizationUpdated', 'LogPublished'].includes(type))).toEqual([
      'OrganizationUpdated',
      'LogPublished',
    ]);
  });

  it('publishes and unpublishes the log, and records nothing if nothing changes', async () => {
    expect((await update({ publicLog: false })).body.data.publicLog).toBe(false);
    for (const publicLog of [true, true, false, true]) {
      expect((await update({ publicLog })).body.data).toMatchObject({ publicLog, name: 'Test organization' });
    }
    expect((await update({ name: 'Rivers' })).body.data).toMatchObject({ publicLog: true, name: 'Rivers' });
    expect((await get()).body.data).toMatchObject({ publicLog: true, name: 'Rivers' });
    const types = await api.eventTypes(client.organizationId);
    expect(types.filter((type) => type.startsWith('Log'))).toEqual([
      'LogPublished',
      'LogUnpublished',
      'LogPublished',
    ]);
  });

  it('with an Idempotency-Key, returns publicLog of the first response for any change', async () => {
    const keyed = (fields: object, key: string) => update(fields, { 'Idempotency-Key': key });
    const [published, renamed] = [
      await keyed({ publicLog: true }, 'publish'),
      await keyed({ name: 'Rivers' }, 'rename'),
    ];
    const withdrawn = await keyed({ publicLog: false, name: 'Streams' }, 'withdraw');
    for (const [fields, key, first] of [
      [{ publicLog: true }, 'publish', published],
      [{ name: 'Rivers' }, 'rename', renamed],
      [{ publicLog: false, name: 'Streams' }, 'withdraw', withdrawn],
    ] as const) {
      expect((await keyed(fields, key)).body).toEqual(first.body);
    }
    expect([published, renamed, withdrawn].map(({ body }) => body.data.publicLog)).toEqual([
      true,
      true,
      false,
    ]);
    expect((await get()).body.data).toMatchObject({ publicLog: false, name: 'Streams' });
  });

  it('with an Idempotency-Key, returns the first response', async () => {
    const headers = { 'Idempotency-Key': 'rename' };
    const first = await update({ name: 'First' }, headers);
    await update({ name: 'Second' });
    expect((await update({ name: 'First' }, headers)).body).toEqual(first.body);
    const other = await update({ name: 'Third' }, headers);
    expect([other.status, other.body.error.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
    expect((await get()).body.data.name).toBe('Second');
  });

  it.each([
    ['null for the name', { name: null }, 'name'],
    ['an empty name', { name: ' ' }, 'name'],
    ['a name that no one can see', { name: '\u200b \u2060' }, 'name'],
    ['a name of 201 characters', { name: 'x'.repeat(201) }, 'name'],
    ['a website of 501 characters', { website: 'x'.repeat(501) }, 'website'],
    ['an invalid email address', { email: 'rivers' }, 'email'],
    ['a country that is not a string', { country: 47 }, 'country'],
    ['an invalid publicLog', { publicLog: 'yes' }, 'publicLog'],
    ['null for publicLog', { publicLog: null }, 'publicLog'],
    ['a sender without an address', { mailFrom: { name: 'Rivers' } }, 'mailFrom.address'],
    ['a sender that is a string', { mailFrom: 'news@rivers.example' }, 'mailFrom'],
    [
      'a sender with non-ASCII characters',
      { mailFrom: { address: 'büro@rivers.example' } },
      'mailFrom.address',
    ],
    ['a sender with a line break', { mailFrom: { address: '"a\r\nb"@rivers.example' } }, 'mailFrom.address'],
    ['a reply-to address with non-ASCII characters', { replyTo: 'büro@rivers.example' }, 'replyTo'],
    ['a postal address of 501 characters', { postalAddress: 'x'.repeat(501) }, 'postalAddress'],
    ['an unsupported language', { language: 'no' }, 'language'],
    ['null for the language', { language: null }, 'language'],
    ['an unknown field', { id: 'x' }, 'id'],
  ])('returns 400 for %s', async (_, fields, path) => {
    const { status, body } = await update(fields);
    expect([status, body.error.issues[0].path]).toEqual([400, path]);
  });
});

it('returns 403 for another organization, and does not change it', async () => {
  const other = await api.organization();
  const { organizationId } = other;
  const before = await other.get('organization.get-organization');
  for (const answer of [await get({ organizationId }), await update({ organizationId, name: 'Mine' })]) {
    expect([answer.status, answer.body.error.code]).toEqual([403, 'FORBIDDEN']);
  }
  expect((await other.get('organization.get-organization')).body).toEqual(before.body);
});

it('returns 401 without a key, and 403 for a key without the scope', async () => {
  const { key } = await api.createKey(client.organizationId, { scopes: ['organization:read'] });
  const reader = new Client(api.origin, client.organizationId, key);
  expect((await reader.get('organization.get-organization')).status).toBe(200);
  const refused = await reader.post('organization.update-organization', { name: 'Mine' });
  expect([refused.status, refused.body.error.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
  const stranger = new Client(api.origin, client.organizationId, undefined);
  expect((await stranger.get('organization.get-organization')).status).toBe(401);
});
