import { v7 as uuidv7 } from 'uuid';
import { type CreateApiKey } from '../src/auth/index.js';
import { DatabaseClock } from './database-clock.js';
import { type Answer, Api, Client } from './harness.js';
import { Deployment, eventually } from './processes.js';
import { longIt } from './length.js';

/** A module that shifts the clock of the process that imports it. */
function shiftedClock(milliseconds: number): string {
  const source = `
    const Real = Date;
    globalThis.Date = class extends Real {
      constructor(...given) { super(...(given.length === 0 ? [Real.now() + ${milliseconds}] : given)); }
      static now() { return Real.now() + ${milliseconds}; }
    };`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

const YEAR_MS = 31_536_000_000;

let api: Api;
let clock: DatabaseClock;
let owner: Client;
beforeAll(async () => {
  // Each rejected client gets its own address, because ten requests use up the rate limit of an address.
  api = await Api.start({ instances: 0, environment: { TRUST_PROXY: 'true' } });
  clock = await DatabaseClock.of(api.database);
  await api.addInstance();
  await api.addInstance();
});
afterAll(() => api.stop());
beforeEach(async () => {
  await clock.set('0');
  owner = await api.organization();
});

let addresses = 0;
function list(client: Client, authorization?: string): Promise<Answer> {
  addresses += 1;
  return client.get(
    'contact.list-contacts',
    {},
    {
      'X-Forwarded-For': `10.1.${addresses >> 8}.${addresses & 255}`,
      ...(authorization === undefined ? {} : { Authorization: authorization }),
    },
  );
}

async function clientWith(options: Partial<CreateApiKey>): Promise<Client & { keyId: string }> {
  const { id, key } = await api.createKey(owner.organizationId, options);
  return Object.assign(new Client(api.origin, owner.organizationId, key), { keyId: id });
}

function expectUnauthorized({ status, body, headers }: Answer, words: string): void {
  expect([status, body.error.code]).toEqual([401, 'UNAUTHORIZED']);
  expect(body.error.message).toContain(words);
  expect(headers.get('www-authenticate')).toBe('Bearer');
}

describe('the Authorization header', () => {
  it.each(['Bearer', 'bearer', 'BEARER'])('returns 200 for %s and a key', async (scheme) => {
    expect((await list(owner, `${scheme} ${owner.key}`)).status).toBe(200);
  });

  it('returns 401 without it, on every operation', async () => {
    const stranger = new Client(api.origin, owner.organizationId, undefined);
    expectUnauthorized(await list(stranger), 'missing');
    const forwarded = { 'X-Forwarded-For': '10.2.0.1' };
    expectUnauthorized(await stranger.post('contact.create-contact', {}, forwarded), 'missing');
    expectUnauthorized(await stranger.delete('contact.delete-contact', {}, forwarded), 'missing');
    const query = await stranger.get('contact.list-contacts', { key: owner.key! }, forwarded);
    expectUnauthorized(query, 'missing');
  });

  it.each([
    '',
    'Bearer',
    'Bearer ',
    'Basic YTpi',
    'Token KEY',
    'KEY',
    'Bearer: KEY',
    'Bearer KEY KEY',
    'BearerKEY',
  ])('returns 401 for %j', async (header) => {
    const answer = await list(owner, header.replaceAll('KEY', owner.key!));
    expectUnauthorized(answer, header === '' ? 'm' : 'malformed');
  });

  it('returns 401 before it checks the input', async () => {
    const stranger = new Client(api.origin, owner.organizationId, 'adv_x');
    const answer = await stranger.request('POST', '/v1/contact.create-contact', '{', {
      'Content-Type': 'text/plain',
      'X-Forwarded-For': '10.2.0.2',
    });
    expectUnauthorized(answer, 'invalid or has been revoked');
  });
});

describe('an invalid key', () => {
  it('returns 401 if it is unknown, or if part of it is wrong', async () => {
    const other = await api.organization();
    const [, publicId, secret] = owner.key!.split('_') as [string, string, string];
    const [, otherId, otherSecret] = other.key!.split('_') as [string, string, string];
    const swapped = secret.startsWith('a') ? `b${secret.slice(1)}` : `a${secret.slice(1)}`;
    for (const key of [
      'x',
      `adv_${'a'.repeat(8)}_${'b'.repeat(40)}`,
      `adv_${publicId}_${swapped}`,
      `adv_${publicId}_${otherSecret}`,
      `adv_${otherId}_${secret}`,
      `adv_${publicId}_`,
      `adv_${publicId}`,
      owner.key!.slice(0, -1),
      owner.key!.slice(0, -6),
      `${owner.key!.slice(0, -6)}aaaaaa`,
      `${owner.key}a`,
      owner.key!.toUpperCase(),
      `ADV_${publicId}_${secret}`,
      `adv_${publicId}_${'a'.repeat(10_000)}`,
      `adv_${publicId}_' OR true --`.replaceAll(' ', ''),
    ]) {
      expectUnauthorized(await list(owner, `Bearer ${key}`), 'invalid or has been revoked');
    }
    expect((await list(owner)).status).toBe(200);
  });

  it('returns 401 on every instance soon after it is revoked, even if it is used constantly', async () => {
    const client = await clientWith({});
    const instances = api.instances.map(({ origin }) => client.at(origin));
    // Both have the key in their cache when it is revoked.
    for (const instance of instances) expect((await list(instance)).status).toBe(200);
    await api.revokeKey(owner.organizationId, client.keyId);
    for (const instance of instances) {
      await eventually(async () => expectUnauthorized(await list(instance), 'invalid or has been revoked'));
    }
    expect((await list(owner)).status).toBe(200);
  });

  it('returns 401 as soon as it expires, even if it is cached', async () => {
    const past = await clientWith({ expiresAt: new Date(Date.now() - 1).toISOString() });
    expectUnauthorized(await list(past), 'expired');

    const expiresAt = new Date(Date.now() + YEAR_MS).toISOString();
    const soon = await clientWith({ expiresAt });
    expect((await list(soon)).status).toBe(200);
    // Another instance caches the key just before it expires.
    const elsewhere = soon.at(api.instances[1]!.origin);
    await clock.moveTo(expiresAt, 300);
    await list(elsewhere);
    await clock.passed(expiresAt);
    expectUnauthorized(await list(elsewhere), 'expired');
    await eventually(async () => expectUnauthorized(await list(soon), 'expired'));
  });

  longIt.each([
    ['ahead', 3_600_000],
    ['behind', -3_600_000],
  ] as const)(
    'expires by the database’s clock on an instance whose clock is an hour %s',
    async (_, shift) => {
      const deployment = await Deployment.create();
      try {
        const clock = await DatabaseClock.of(deployment.database);
        const client = await deployment.organization();
        const { organizationId } = client;
        const server = await deployment.startServer({ NODE_OPTIONS: `--import=${shiftedClock(shift)}` });
        const owner = client.at(server.origin);
        const toldAt = Date.parse(server.log[0]!.time as string);
        expect(Math.round((toldAt - Date.now()) / 600_000)).toBe(shift / 600_000);

        const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
        const expiresAt = inSeconds(7_200);
        const { body } = await owner.post('api-key.create-api-key', { name: 'Soon', expiresAt });
        const soon = new Client(server.origin, organizationId, body.data.key);
        expect((await soon.get('contact.list-contacts')).status).toBe(200);
        for (const seconds of [-1, -1_800]) {
          const past = { name: 'Past', expiresAt: inSeconds(seconds) };
          const { status, body } = await owner.post('api-key.create-api-key', past);
          expect([status, body.error.issues[0].message]).toEqual([
            400,
            'must be in the future and before the year 10000',
          ]);
        }
        // Rotation follows the database's clock, too.
        const { apiKeyId } = body.data;
        const again = await owner.post('api-key.rotate-api-key', { apiKeyId, overlapSeconds: 86_400 });
        expect(again.status).toBe(200);
        await clock.moveTo(expiresAt, -1);
        await eventually(async () => expectUnauthorized(await soon.get('contact.list-contacts'), 'expired'));
        const late = await owner.post('api-key.rotate-api-key', { apiKeyId: again.body.data.apiKeyId });
        expect([late.status, late.body.error.message]).toEqual([409, expect.stringContaining('has expired')]);
      } finally {
        await deployment.stop();
      }
    },
  );

  it('a new key works immediately on every instance, even if it was rejected there before', async () => {
    for (let n = 0; n < 10; n += 1) {
      const { key } = await api.createKey(owner.organizationId);
      for (const { origin } of api.instances) {
        expect((await list(new Client(origin, owner.organizationId, key))).status).toBe(200);
      }
    }
  });
});

describe('organizationId', () => {
  it('returns 403 for another organization, whether or not it exists, and changes nothing there', async () => {
    const other = await api.organization();
    const before = await api.eventTypes(other.organizationId);
    for (const organizationId of [other.organizationId, uuidv7(), 'x', owner.organizationId.toUpperCase()]) {
      const answers = [
        await owner.post('contact.create-contact', { organizationId, email: 'ada@example.org' }),
        await owner.post('contact.update-contact', { organizationId, contactId: uuidv7() }),
        await owner.delete('contact.delete-contact', { organizationId, contactId: uuidv7() }),
        await owner.get('contact.get-contact', { organizationId, contactId: uuidv7() }),
        await owner.get('contact.list-contacts', { organizationId }),
      ];
      for (const { status, body } of answers) expect([status, body.error.code]).toEqual([403, 'FORBIDDEN']);
    }
    expect(await api.eventTypes(other.organizationId)).toEqual(before);
  });
});

describe('scopes', () => {
  const operations = async (client: Client) => {
    const { organizationId } = client;
    const contactId = uuidv7();
    const answers = {
      list: await client.get('contact.list-contacts'),
      get: await client.get('contact.get-contact', { organizationId, contactId }),
      create: await client.post('contact.create-contact', { organizationId, email: 'ada@example.org' }),
      update: await client.post('contact.update-contact', { contactId }),
      delete: await client.delete('contact.delete-contact', { contactId }),
    };
    return Object.fromEntries(
      Object.entries(answers).map(([name, { status, body }]) => [name, body.error?.code ?? status]),
    );
  };
  const may = { list: 200, get: 'NOT_FOUND' };
  const mayWrite = { create: 200, update: 'NOT_FOUND', delete: 'NOT_FOUND' };
  const refused = 'INSUFFICIENT_PERMISSIONS';
  const mayNot = { list: refused, get: refused };
  const mayNotWrite = { create: refused, update: refused, delete: refused };

  it.each([
    [['*'], { ...may, ...mayWrite }],
    [['contact:read'], { ...may, ...mayNotWrite }],
    [['contact:write'], { ...mayNot, ...mayWrite }],
    [['contact:read', 'contact:write'], { ...may, ...mayWrite }],
    [['petition:read'], { ...mayNot, ...mayNotWrite }],
    [['petition:read', 'list:write', 'history:read'], { ...mayNot, ...mayNotWrite }],
    [[], { ...mayNot, ...mayNotWrite }],
  ])('permit with %j only what these scopes grant', async (scopes, expected) => {
    expect(await operations(await clientWith({ scopes }))).toEqual(expected);
  });

  it('returns 403 with the missing scope before it checks the input', async () => {
    const client = await clientWith({ scopes: ['contact:read'] });
    const { status, body } = await client.request('POST', '/v1/contact.create-contact', '{');
    expect([status, body.error.code]).toEqual([403, refused]);
    expect(body.error.message).toContain('contact:write');
  });
});

it('stores no secret of a key in any table', async () => {
  await owner.post('contact.create-contact', {
    organizationId: owner.organizationId,
    email: 'ada@example.org',
  });
  const { id } = await api.createKey(owner.organizationId);
  await api.revokeKey(owner.organizationId, id);
  const { source } = api.database;
  const tables: { name: string }[] = await source.query(
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
     WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`,
  );
  let dump = '';
  for (const { name } of tables) {
    const rows: { row: string }[] = await source.query(`SELECT t::text AS row FROM ${name} t`);
    dump += rows.map(({ row }) => `${row}\n`).join('');
  }
  const [, publicId, secret] = owner.key!.split('_') as [string, string, string];
  expect(dump).toContain(publicId);
  for (const encoding of ['utf8', 'hex', 'base64', 'base64url'] as const) {
    expect(dump).not.toContain(Buffer.from(secret).toString(encoding).replace(/=+$/, ''));
  }
});
