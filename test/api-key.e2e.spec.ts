import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { v7 as uuid } from 'uuid';
import { Projections, replay } from '#libs/projections';
import { allScopes, operationNamed, operationOf } from '#libs/rpc';
import { upcasters } from '../src/modules.js';
import { type CreateApiKey, replayableApiKeys } from '../src/auth/index.js';
import { readExported } from '../src/history/index.js';
import { DatabaseClock } from './database-clock.js';
import { type Answer, Api, Client, ISO, NOBODY } from './harness.js';
import { OPERATIONS } from './operations.js';
import { eventually } from './processes.js';
import { verifyTwice } from './verifiers.js';
import { isLong, someOf } from './length.js';

const SCOPES = allScopes();
let api: Api;
let clock: DatabaseClock;
let owner: Client;
beforeAll(async () => {
  // Rejected keys count against the address, and these tests send many. So each request has its own address.
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

const KEY = /^adv_[A-Za-z0-9]{8}_[A-Za-z0-9]{32,}$/;
const YEAR_MS = 31_536_000_000;

type NewKey = { apiKeyId: string; key: string };
type Headers = Record<string, string>;

const post = (operation: string, fields: object, client = owner, headers: Headers = {}) =>
  client.post(`api-key.${operation}-api-key`, fields, headers);
const revoke = (apiKeyId: string, client = owner, headers: Headers = {}) =>
  client.delete('api-key.revoke-api-key', { apiKeyId }, headers);

async function dataOf(answer: Promise<Answer>): Promise<any> {
  const { status, body } = await answer;
  expect([status, body]).toEqual([200, expect.objectContaining({ data: expect.anything() })]);
  return body.data;
}
const create = (fields: object = {}): Promise<NewKey> =>
  dataOf(post('create', { name: 'Website', ...fields }));
const rotate = (apiKeyId: string, overlapSeconds = 0): Promise<NewKey> =>
  dataOf(post('rotate', { apiKeyId, overlapSeconds }));

/** A client with an unlimited key and these options. */
async function clientWith(options: Partial<CreateApiKey>): Promise<Client & { keyId: string }> {
  const { id, key } = await api.createKey(owner.organizationId, options);
  return Object.assign(new Client(api.origin, owner.organizationId, key), { keyId: id });
}

let addresses = 0;
/** The status of each key on every instance: 200 or 401. */
function statusesOf(...keys: string[]): Promise<number[]> {
  return Promise.all(
    keys.flatMap((key) =>
      api.instances.map(async ({ origin }) => {
        addresses += 1;
        const headers = { 'X-Forwarded-For': `10.3.${addresses >> 8}.${addresses & 255}` };
        return (await new Client(origin, owner.organizationId, key).get('post.list-posts', {}, headers))
          .status;
      }),
    ),
  );
}

/** Waits until every instance rejects the keys, which are cached for a moment. */
async function refusedSoon(...keys: string[]): Promise<void> {
  await eventually(async () => expect(await statusesOf(...keys)).toEqual(Array(2 * keys.length).fill(401)));
}

async function list(query: Headers = {}, client = owner): Promise<any[]> {
  return dataOf(client.get('api-key.list-api-keys', query));
}
async function record(apiKeyId: string): Promise<any> {
  return (await list({ limit: '100' })).find(({ id }) => id === apiKeyId);
}

async function countOf(type: string): Promise<number> {
  return (await api.eventTypes(owner.organizationId)).filter((each) => each === type).length;
}

function expectError({ status, body }: Answer, expected: number, code: string, words = ''): void {
  expect([status, body.error?.code]).toEqual([expected, code]);
  expect(body.error.message).toContain(words);
}

describe('create-api-key', () => {
  it('returns 200 with a key that works immediately on every instance, within its scopes', async () => {
    const { status, body } = await post('create', { name: 'Website', scopes: ['post:read'] });
    expect([status, body]).toEqual([
      200,
      { data: { apiKeyId: expect.any(String), key: expect.stringMatching(KEY) }, object: 'api-key' },
    ]);
    const { key } = body.data;
    expect(await statusesOf(key)).toEqual([200, 200]);
    const reader = new Client(api.origin, owner.organizationId, key);
    expectError(await reader.post('post.create-post', { name: 'A' }), 403, 'INSUFFICIENT_PERMISSIONS');
  });

  it('creates a key with its own rate limit', async () => {
    const { key } = await create({ rateLimit: 3 });
    const limited = new Client(api.origin, owner.organizationId, key);
    expect((await limited.get('post.list-posts')).headers.get('ratelimit-limit')).toBe('3');
    const { key: usual } = await create();
    const answer = await new Client(api.origin, owner.organizationId, usual).get('post.list-posts');
    expect(answer.headers.get('ratelimit-limit')).toBe('10');
  });

  it('returns the same id without the key for a repeated request, with defaults written out or omitted', async () => {
    const { apiKeyId } = await create();
    const repeats = [
      {},
      { scopes: ['*'] },
      { scopes: ['*', '*'], rateLimit: 10 },
      { organizationId: owner.organizationId },
    ];
    for (const fields of repeats) expect(await create(fields)).toEqual({ apiKeyId, key: null });
    expect((await create({ rateLimit: 11 })).apiKeyId).not.toBe(apiKeyId);

    const expiresAt = new Date(Date.now() + YEAR_MS);
    const scopes = ['post:read', 'contact:read'];
    const expiring = await create({ scopes, expiresAt: expiresAt.toISOString() });
    const sameMoment = expiresAt.toISOString().replace('Z', '+00:00');
    const repeat = await create({ scopes: scopes.toReversed(), expiresAt: sameMoment });
    expect(repeat).toEqual({ apiKeyId: expiring.apiKeyId, key: null });
  });

  it.each([
    ['without an Idempotency-Key', {}],
    ['with an Idempotency-Key', { 'Idempotency-Key': 'twin' }],
  ])(
    'creates one key for 20 identical requests sent in parallel to two instances, %s',
    async (_, headers) => {
      const before = await countOf('ApiKeyCreated');
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          dataOf(post('create', { name: 'Twin' }, owner.at(api.instances[n % 2]!.origin), headers)),
        ),
      );
      expect(new Set(answers.map(({ apiKeyId }) => apiKeyId)).size).toBe(1);
      const keys = answers.flatMap(({ key }) => key ?? []);
      expect(keys).toHaveLength(1);
      expect(await statusesOf(keys[0])).toEqual([200, 200]);
      expect(await countOf('ApiKeyCreated')).toBe(before + 1);
    },
  );

  it('creates a second key with a different Idempotency-Key, and returns 422 for the same one with a different body', async () => {
    const name = 'Website';
    const first = await dataOf(post('create', { name }, owner, { 'Idempotency-Key': 'one' }));
    const again = await dataOf(post('create', { name }, owner, { 'Idempotency-Key': 'one' }));
    const second = await dataOf(post('create', { name }, owner, { 'Idempotency-Key': 'two' }));
    expect(again).toEqual({ apiKeyId: first.apiKeyId, key: null });
    expect([second.apiKeyId === first.apiKeyId, second.key === first.key]).toEqual([false, false]);
    expect(await statusesOf(first.key, second.key)).toEqual([200, 200, 200, 200]);
    const other = await post('create', { name: 'Other' }, owner, { 'Idempotency-Key': 'one' });
    expectError(other, 422, 'IDEMPOTENCY_KEY_REUSED');
  });

  it('creates another key after the first was revoked or rotated', async () => {
    const first = await create();
    await revoke(first.apiKeyId);
    const second = await create();
    expect(second).toEqual({ apiKeyId: expect.not.stringMatching(first.apiKeyId), key: expect.any(String) });
    const successor = await rotate(second.apiKeyId);
    const third = await create();
    expect(third.key).toMatch(KEY);
    expect(new Set([first, second, successor, third].map(({ apiKeyId }) => apiKeyId)).size).toBe(4);
  });

  it('returns the first response to a repeat even after the key has expired, with and without an Idempotency-Key', async () => {
    const expiresAt = new Date(Date.now() + YEAR_MS).toISOString();
    const headers = { 'Idempotency-Key': 'short' };
    const withHeader = await dataOf(post('create', { name: 'A', expiresAt }, owner, headers));
    const without = await create({ expiresAt });
    await clock.moveTo(expiresAt, -1);
    const again = await dataOf(post('create', { name: 'A', expiresAt }, owner, headers));
    expect(again).toEqual({ apiKeyId: withHeader.apiKeyId, key: null });
    expect(await create({ expiresAt })).toEqual({ apiKeyId: without.apiKeyId, key: null });
    expectError(await post('create', { name: 'Another', expiresAt }), 400, 'BAD_REQUEST');
  });

  it.each([
    ['no name', {}, 'name'],
    ['a name of 201 characters', { name: 'x'.repeat(201) }, 'name'],
    ['no scopes at all', { name: 'A', scopes: [] }, 'scopes'],
    ['an unknown scope', { name: 'A', scopes: ['contact:fly'] }, 'scopes'],
    ['scopes that are not a list', { name: 'A', scopes: '*' }, 'scopes'],
    ['no requests at all', { name: 'A', rateLimit: 0 }, 'rateLimit'],
    ['1,001 requests', { name: 'A', rateLimit: 1_001 }, 'rateLimit'],
    ['no limit', { name: 'A', rateLimit: 'unlimited' }, 'rateLimit'],
    ['null for the limit', { name: 'A', rateLimit: null }, 'rateLimit'],
    ['an expiry in the past', { name: 'A', expiresAt: '2001-01-01T00:00:00Z' }, 'expiresAt'],
    ['an expiry beyond the calendar', { name: 'A', expiresAt: '9999-12-31T23:59:59-12:00' }, 'expiresAt'],
    ['an expiry that is not a time', { name: 'A', expiresAt: 'soon' }, 'expiresAt'],
    ['a secret of its own', { name: 'A', key: 'adv_x' }, 'key'],
  ])('returns 400 for %s, and creates no key', async (_, fields, path) => {
    const { status, body } = await post('create', fields);
    expect([status, body.error.issues[0].path]).toEqual([400, path]);
    expect(await countOf('ApiKeyCreated')).toBe(2);
  });
});

describe('a key can only grant scopes that it has itself', () => {
  const may = ['api-key:write', 'contact:read'];

  it('returns 403 with the missing scope, even for the default scopes, and creates nothing', async () => {
    const lesser = await clientWith({ scopes: may });
    const before = await countOf('ApiKeyCreated');
    const attempts: [object, string][] = [
      [{ scopes: ['contact:read', 'contact:write'] }, 'contact:write'],
      [{ scopes: ['*'] }, '*'],
      [{ scopes: SCOPES }, '*'],
      [{}, '*'],
    ];
    for (const [fields, scope] of attempts) {
      const answer = await post('create', { name: 'More', ...fields }, lesser);
      expectError(answer, 403, 'INSUFFICIENT_PERMISSIONS', `lacks ${scope}`);
      expect(answer.body.error.message).toContain('Choose from these scopes: contact:read, api-key:write.');
    }
    expect(await countOf('ApiKeyCreated')).toBe(before);
  });

  it('returns 403 for * even if the creator has every other scope', async () => {
    const lesser = await clientWith({ scopes: SCOPES.filter((scope) => scope !== '*') });
    expectError(await post('create', { name: 'All' }, lesser), 403, 'INSUFFICIENT_PERMISSIONS', 'lacks *');
  });

  it('returns 200 for its own scopes, and the new key cannot grant more', async () => {
    const lesser = await clientWith({ scopes: may });
    const { key } = await dataOf(post('create', { name: 'Same', scopes: may }, lesser));
    const child = new Client(api.origin, owner.organizationId, key);
    const less = await dataOf(post('create', { name: 'Less', scopes: ['contact:read'] }, child));
    expect((await record(less.apiKeyId)).scopes).toEqual(['contact:read']);
    const more = await post('create', { name: 'More', scopes: ['contact:write'] }, child);
    expectError(more, 403, 'INSUFFICIENT_PERMISSIONS');
  });

  it('returns 403 when it rotates a key with more scopes, and that key stays active', async () => {
    const lesser = await clientWith({ scopes: may });
    const { apiKeyId, key } = await create({ scopes: ['contact:read', 'contact:write'] });
    for (const overlapSeconds of [0, 60]) {
      const answer = await post('rotate', { apiKeyId, overlapSeconds }, lesser);
      expectError(answer, 403, 'INSUFFICIENT_PERMISSIONS', 'lacks contact:write');
    }
    expect([(await record(apiKeyId)).revokedAt, await countOf('ApiKeyRotated')]).toEqual([null, 0]);
    const mine = await create({ scopes: ['contact:read'] });
    expect((await post('rotate', { apiKeyId: mine.apiKeyId }, lesser)).status).toBe(200);
    expect(key).toMatch(KEY);
  });
});

describe('a key can only grant limits that it has itself', () => {
  const inYears = (years: number) => new Date(Date.now() + years * YEAR_MS).toISOString();

  it('caps the rate limit at its own, and uses the default if that is lower', async () => {
    for (const [own, preset, tooMuch] of [
      [5, 5, 6],
      [10, 10, 11],
      [null, 10, 11],
      [300, 10, 301],
    ] as const) {
      const lesser = await clientWith({ rateLimit: own });
      const made = await dataOf(post('create', { name: `Of ${own}` }, lesser));
      expect((await record(made.apiKeyId)).rateLimit).toBe(preset);
      const answer = await post('create', { name: 'More', rateLimit: tooMuch }, lesser);
      const words = `a rate limit up to its own, and this one has ${own ?? 10} per second`;
      expectError(answer, 403, 'INSUFFICIENT_PERMISSIONS', words);
      const most = await dataOf(post('create', { name: `Most of ${own}`, rateLimit: tooMuch - 1 }, lesser));
      expect((await record(most.apiKeyId)).rateLimit).toBe(tooMuch - 1);
    }
  });

  it('caps the expiry at its own, which is also the default', async () => {
    const expiresAt = inYears(1);
    const lesser = await clientWith({ expiresAt });
    const same = await dataOf(post('create', { name: 'Same' }, lesser));
    expect((await record(same.apiKeyId)).expiresAt).toBe(expiresAt);
    const answer = await post('create', { name: 'Longer', expiresAt: inYears(2) }, lesser);
    expectError(answer, 403, 'INSUFFICIENT_PERMISSIONS', `this one expires at ${expiresAt}`);
    const sooner = await dataOf(post('create', { name: 'Sooner', expiresAt: inYears(0.5) }, lesser));
    expect(Date.parse((await record(sooner.apiKeyId)).expiresAt)).toBeLessThan(Date.parse(expiresAt));
  });

  it('returns 403 when it rotates or revokes a key with more rights, and that key stays active', async () => {
    const own = { scopes: ['post:read', 'api-key:write'], rateLimit: 50, expiresAt: inYears(1) };
    const lesser = await clientWith(own);
    const stronger: Partial<CreateApiKey>[] = [
      { ...own, scopes: ['*'] },
      { ...own, scopes: ['post:write'] },
      { ...own, rateLimit: 51 },
      { ...own, rateLimit: 'unlimited' },
      { ...own, expiresAt: inYears(2) },
      { ...own, expiresAt: null },
    ];
    const before = await countOf('ApiKeyCreated');
    for (const options of stronger) {
      const { keyId } = await clientWith(options);
      for (const overlapSeconds of [0, 60]) {
        const answer = await post('rotate', { apiKeyId: keyId, overlapSeconds }, lesser);
        expectError(answer, 403, 'INSUFFICIENT_PERMISSIONS');
      }
      expectError(await revoke(keyId, lesser), 403, 'INSUFFICIENT_PERMISSIONS', 'Revoke it with a key');
    }
    expect(await countOf('ApiKeyCreated')).toBe(before + stronger.length);
    expect([await countOf('ApiKeyRotated'), await countOf('ApiKeyRevoked')]).toEqual([0, 0]);

    const { keyId } = await clientWith(own);
    const successor = await dataOf(post('rotate', { apiKeyId: keyId }, lesser));
    expect(await record(successor.apiKeyId)).toMatchObject(own);
    expect((await revoke(successor.apiKeyId, lesser)).status).toBe(200);
  });

  it('returns 200 when a key with few rights rotates or revokes itself', async () => {
    const own = { scopes: ['api-key:write'], rateLimit: 2, expiresAt: inYears(1) };
    const self = await clientWith(own);
    const successor = await dataOf(post('rotate', { apiKeyId: self.keyId, overlapSeconds: 60 }, self));
    expect(await record(successor.apiKeyId)).toMatchObject(own);
    const next = new Client(api.origin, owner.organizationId, successor.key);
    expect((await revoke(successor.apiKeyId, next)).status).toBe(200);
  });
});

describe('revoking a key also revokes the keys that it created', () => {
  const by = async (client: Client, fields: object = {}): Promise<Client & { keyId: string }> => {
    const { apiKeyId, key } = await dataOf(post('create', { name: uuid(), ...fields }, client));
    return Object.assign(new Client(api.origin, owner.organizationId, key), { keyId: apiKeyId });
  };
  const rotated = async ({ keyId }: { keyId: string }, client: Client, overlapSeconds = 0) => {
    const { apiKeyId, key } = await dataOf(post('rotate', { apiKeyId: keyId, overlapSeconds }, client));
    return Object.assign(new Client(api.origin, owner.organizationId, key), { keyId: apiKeyId });
  };
  const endedOf = async (...clients: { keyId: string }[]) =>
    Promise.all(clients.map(async ({ keyId }) => (await record(keyId)).revokedAt !== null));

  it('recursively, on every instance, and no other key', async () => {
    const maker = await clientWith({});
    const child = await by(maker);
    const grandchild = await by(child);
    const other = await by(owner);
    const keys = [maker, child, grandchild].map(({ key }) => key!);
    expect(await statusesOf(...keys)).toEqual(Array(6).fill(200));
    const answer = await revoke(maker.keyId);
    expect([answer.status, answer.body.data]).toEqual([200, { apiKeyId: maker.keyId }]);
    await refusedSoon(...keys);
    expect(await statusesOf(other.key!)).toEqual([200, 200]);

    const moments = await Promise.all(
      [maker, child, grandchild].map(async ({ keyId }) => (await record(keyId)).revokedAt),
    );
    expect(new Set(moments).size).toBe(1);
    expect(await countOf('ApiKeyRevoked')).toBe(3);
    expect((await revoke(maker.keyId)).status).toBe(200);
    expect(await countOf('ApiKeyRevoked')).toBe(3);
  });

  it('when it is revoked again, if an earlier version had not revoked them', async () => {
    const maker = await clientWith({});
    const child = await by(maker);
    const { store } = api.instances[0]!.runtime;
    const metadata = { actor: { type: 'system' as const, id: 'older' }, requestId: 'older' };
    const events = [{ type: 'ApiKeyRevoked', data: {} }];
    const write = { streamType: 'api-key', streamId: maker.keyId, expectedVersion: 1, events };
    await store.append({ organizationId: owner.organizationId, metadata, writes: [write] });
    expect(await endedOf(child)).toEqual([false]);
    await revoke(maker.keyId);
    expect(await endedOf(child)).toEqual([true]);
    expect(await countOf('ApiKeyRevoked')).toBe(2);
  });

  it('but not after a rotation: they then belong to its successor', async () => {
    const maker = await clientWith({});
    const child = await by(maker);
    const second = await rotated(maker, owner, 60);
    const late = await by(maker);
    const third = await rotated(second, owner);
    await revoke(maker.keyId);
    await revoke(second.keyId);
    expect(await endedOf(child, late, third)).toEqual([false, false, false]);
    expect(await statusesOf(child.key!, late.key!)).toEqual(Array(4).fill(200));
    await revoke(third.keyId);
    expect(await endedOf(child, late)).toEqual([true, true]);
  });

  it.each([
    ['in its overlap', 60],
    ['whose overlap is over', 0],
  ])('and the successors that a key %s created by rotating itself', async (_, overlapSeconds) => {
    const leaked = await clientWith({});
    const child = await by(leaked);
    const second = await rotated(leaked, leaked, overlapSeconds);
    const third = await rotated(second, second, 60);
    const late = await by(third);
    const family = [child, second, third, late];
    await revoke(leaked.keyId);
    expect(await endedOf(...family)).toEqual([true, true, true, true]);
    expect(await countOf('ApiKeyRevoked')).toBe(overlapSeconds > 0 ? 5 : 4);
    await refusedSoon(...family.map(({ key }) => key!));
  });

  it('but not a successor that revokes its predecessor', async () => {
    const first = await clientWith({});
    const child = await by(first);
    const second = await rotated(first, first, 60);
    expect((await revoke(first.keyId, second)).status).toBe(200);
    expect(await endedOf(first, second, child)).toEqual([true, false, false]);
  });

  it('but not a successor that another key created by rotating it, nor its keys', async () => {
    const maker = await clientWith({});
    const child = await by(maker);
    const second = await rotated(maker, maker, 60);
    const renewed = await rotated(second, owner, 60);
    const answer = await revoke(maker.keyId);
    expect(answer.status).toBe(200);
    expect(await endedOf(second, renewed, child)).toEqual([true, false, false]);
    expect(await countOf('ApiKeyRevoked')).toBe(2);
  });

  it('and the successor of such a key, whichever key rotated it', async () => {
    const [maker, admin] = [await clientWith({}), await clientWith({})];
    const [one, two] = [await by(maker), await by(maker)];
    const successors = [await rotated(one, one), await rotated(two, admin)];
    const mine = await by(admin);
    await revoke(admin.keyId);
    // The admin holds the secret of the second child's successor.
    expect(await endedOf(...successors, mine)).toEqual([false, true, true]);
    await revoke(maker.keyId);
    expect(await endedOf(...successors)).toEqual([true, true]);
  });

  it('returns 401 when a key in its overlap creates a key after its successor was revoked', async () => {
    const maker = await clientWith({});
    const successor = await rotated(maker, owner, 60);
    await revoke(successor.keyId);
    expectError(
      await post('create', { name: 'Late' }, maker),
      401,
      'UNAUTHORIZED',
      'cannot create other keys',
    );
    const { apiKeyId } = await create({ name: 'Another' });
    expectError(await post('rotate', { apiKeyId }, maker), 401, 'UNAUTHORIZED', 'cannot create other keys');
  });

  it('and keys that are created at the same moment, on any instance', async () => {
    for (let round = 0; round < (isLong ? 10 : 2); round += 1) {
      const maker = await clientWith({});
      const child = await by(maker);
      const makers = [maker, child].flatMap((client) =>
        api.instances.flatMap(({ origin }) =>
          Array.from({ length: isLong ? 3 : 2 }, () => client.at(origin)),
        ),
      );
      const creations = makers.map((client) => post('create', { name: uuid() }, client));
      // The revocation arrives before the first response in some rounds, and after a few in others.
      await Promise.all(creations.slice(0, 2 * (round % 3)));
      const [revocation, ...answers] = await Promise.all([revoke(maker.keyId), ...creations]);
      expect(revocation.status).toBe(200);
      expect(answers.filter(({ status }) => status !== 200 && status !== 401)).toEqual([]);
      const made = answers.flatMap(({ body }) => (body.data ? [{ keyId: body.data.apiKeyId }] : []));
      expect(await endedOf(child, ...made)).toEqual(Array(1 + made.length).fill(true));
    }
  });

  it('and a replay of the exported history gives the same result', async () => {
    const maker = await clientWith({});
    const child = await by(maker);
    await rotated(child, child);
    await rotated(maker, maker, 60);
    await revoke(maker.keyId);
    const { body } = await owner.get('history.export-events');
    const events = body
      .trimEnd()
      .split('\n')
      .map((line: string) => readExported(line, upcasters));
    const [kind] = await replay([replayableApiKeys], events);
    const unused = (records: Iterable<object>): any[] =>
      JSON.parse(JSON.stringify([...records])).map((one: object) => ({ ...one, lastUsedAt: null }));
    const replayed = unused(kind!.records);
    expect(replayed).toEqual(unused(await list({ sort: 'createdAt' })));
    expect(replayed.filter(({ revokedAt }) => revokedAt !== null)).toHaveLength(4);
  });
});

describe('an organization has at most 100 active keys', () => {
  /** Fills the organization up to this many keys. */
  async function fill(count: number): Promise<void> {
    const { length } = await list({ limit: '100' });
    const data = {
      name: 'Filled',
      secretHash: '0'.repeat(64),
      scopes: ['*'],
      rateLimit: null,
      expiresAt: null,
    };
    const { app, runtime } = api.instances[0]!;
    const writes = Array.from({ length: count - length }, () => ({
      ...{ streamType: 'api-key', streamId: uuid(), expectedVersion: 0 },
      events: [{ type: 'ApiKeyCreated', data: { ...data, publicId: randomBytes(4).toString('hex') } }],
    }));
    const metadata = { actor: { type: 'system' as const, id: 'test' }, requestId: 'test' };
    await runtime.store.append({ organizationId: owner.organizationId, metadata, writes });
    await app.get(Projections).catchUpWithLog();
  }
  const live = async () => {
    const { rows } = await api.database.source
      .query(
        `SELECT stream_id FROM events WHERE organization_id = $1 AND type = 'ApiKeyCreated'
         EXCEPT SELECT stream_id FROM events WHERE organization_id = $1 AND type IN ('ApiKeyRevoked', 'ApiKeyRotated')`,
        [owner.organizationId],
      )
      .then((rows: object[]) => ({ rows }));
    return rows.length;
  };

  it('even if more are created in parallel on two instances: the others get 409 with the fix', async () => {
    const [free, asked] = isLong ? [20, 50] : [4, 12];
    await fill(100 - free);
    const answers = await Promise.all(
      Array.from({ length: asked }, (_, n) =>
        post('create', { name: uuid() }, owner.at(api.instances[n % 2]!.origin)),
      ),
    );
    const made = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status !== 200);
    expect([made.length, refused.length, await live()]).toEqual([free, asked - free, 100]);
    for (const answer of refused) expectError(answer, 409, 'CONFLICT', 'up to 100 live API keys');

    await revoke(made[0]!.body.data.apiKeyId);
    expect((await post('create', { name: 'In its place' })).status).toBe(200);
    expectError(await post('create', { name: 'One more' }), 409, 'CONFLICT', 'Revoke one');
    // Repeats still get their response, and the operator may exceed the limit.
    expect((await create({ name: 'In its place' })).key).toBeNull();
    await clientWith({});
    expect(await live()).toBe(101);
  });

  it('not counting expired keys, and counting a key in its overlap', async () => {
    await fill(98);
    const [old] = await list();
    await clientWith({ expiresAt: new Date(Date.now() - 1).toISOString() });
    const expiresAt = new Date(Date.now() + YEAR_MS).toISOString();
    const short = await create({ name: 'Short', expiresAt });
    await create({ name: 'Hundredth' });
    expectError(await post('create', { name: 'One more' }), 409, 'CONFLICT');
    expectError(await post('rotate', { apiKeyId: old.id, overlapSeconds: 60 }), 409, 'CONFLICT', 'up to 100');
    const successor = await rotate(old.id);
    await clock.moveTo(expiresAt, -1);
    expect((await record(short.apiKeyId)).revokedAt).toBeNull();
    await rotate(successor.apiKeyId, 60);
    expectError(await post('create', { name: 'One more' }), 409, 'CONFLICT');
  });
});

describe('list-api-keys', () => {
  it('returns 200 with every field, without the secret or its hash', async () => {
    const expiresAt = new Date(Date.now() + YEAR_MS).toISOString();
    const scopes = ['contact:read', 'post:write'];
    const { apiKeyId, key } = await create({ scopes, rateLimit: 500, expiresAt });
    const { status, body } = await owner.get('api-key.list-api-keys');
    expect([status, body.object, body.pagination]).toEqual([
      200,
      'api-keys',
      { cursor: null, hasMore: false },
    ]);
    expect(body.data[0]).toEqual({
      id: apiKeyId,
      createdAt: expect.stringMatching(ISO),
      name: 'Website',
      prefix: key.slice(0, 12),
      scopes,
      rateLimit: 500,
      expiresAt,
      lastUsedAt: null,
      revokedAt: null,
      organizationId: owner.organizationId,
    });
    const secret = key.slice(13);
    const text = JSON.stringify(body);
    expect(text).not.toContain(secret);
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      expect(text).not.toContain(createHash('sha256').update(secret).digest(encoding));
    }
  });

  it('returns the effective rate limit: 10 by default, null if unlimited', async () => {
    const limits = Object.fromEntries((await list()).map(({ name, rateLimit }) => [name, rateLimit]));
    expect(limits).toEqual({ 'First key': 10, Test: null });
  });

  it('sorts, searches and paginates', async () => {
    for (const name of ['Banana', 'Apple', 'Cherry']) await create({ name });
    const names = async (query: Headers) => (await list(query)).map(({ name }) => name);
    expect(await names({ sort: 'name' })).toEqual(['Apple', 'Banana', 'Cherry', 'First key', 'Test']);
    expect(await names({ q: 'nan' })).toEqual(['Banana']);
    expect(await names({ q: 'ba' })).toEqual(['Banana']);
    const first = await owner.get('api-key.list-api-keys', { limit: '2' });
    expect(first.body.data.map(({ name }: any) => name)).toEqual(['Cherry', 'Apple']);
    const { cursor } = first.body.pagination;
    expect(await names({ limit: '2', cursor })).toEqual(['Banana', 'Test']);
    expectError(await owner.get('api-key.list-api-keys', { limit: '0' }), 400, 'BAD_REQUEST');
  });

  it('shows when a key was last used on any instance', async () => {
    const { apiKeyId, key } = await create();
    const started = Date.now();
    expect(await statusesOf(key)).toEqual([200, 200]);
    await eventually(async () => {
      const { lastUsedAt } = await record(apiKeyId);
      expect(Date.parse(lastUsedAt)).toBeGreaterThanOrEqual(started);
    });
    expect(await api.eventTypes(owner.organizationId)).not.toContain('ApiKeyUsed');
  });

  it('shows the last use on an instance that has stopped since', async () => {
    const { apiKeyId, key } = await create();
    const instance = await api.addInstance();
    api.instances.pop();
    const { status } = await new Client(instance.origin, '', key).get('post.list-posts');
    expect(status).toBe(200);
    await instance.life.drain();
    await instance.app.close();
    expect((await record(apiKeyId)).lastUsedAt).toMatch(ISO);
    await instance.runtime.projections.stop();
    await instance.runtime.close();
  });
});

describe('rotate-api-key', () => {
  it('returns 200 with a new key like the old one, which is soon rejected', async () => {
    const old = await create({ scopes: ['post:read'], rateLimit: 20 });
    expect(await statusesOf(old.key)).toEqual([200, 200]);
    const { status, body } = await post('rotate', { apiKeyId: old.apiKeyId });
    expect([status, body]).toEqual([
      200,
      { data: { apiKeyId: expect.any(String), key: expect.stringMatching(KEY) }, object: 'api-key' },
    ]);
    const successor: NewKey = body.data;
    expect(successor.apiKeyId).not.toBe(old.apiKeyId);
    expect(await statusesOf(successor.key)).toEqual([200, 200]);
    await refusedSoon(old.key);
    expect(await statusesOf(successor.key)).toEqual([200, 200]);

    const [before, after] = [await record(old.apiKeyId), await record(successor.apiKeyId)];
    expect(before.revokedAt).toMatch(ISO);
    const { name, scopes, rateLimit, expiresAt } = before;
    expect(after).toMatchObject({ name, scopes, rateLimit, expiresAt, revokedAt: null });
    expect(after.prefix).toBe(successor.key.slice(0, 12));
  });

  it('keeps the old key valid on every instance until its overlap ends', async () => {
    const old = await create();
    const successor = await rotate(old.apiKeyId, 3_600);
    const { revokedAt } = await record(old.apiKeyId);
    expect(Date.parse(revokedAt)).toBeGreaterThan(Date.now());
    expect(await statusesOf(old.key, successor.key)).toEqual([200, 200, 200, 200]);
    await clock.moveTo(revokedAt, 300);
    await statusesOf(old.key);
    await clock.passed(revokedAt);
    await refusedSoon(old.key);
    expect(await statusesOf(successor.key)).toEqual([200, 200]);
  });

  it('records one event for the old key, with only its successor and overlap', async () => {
    const old = await create();
    const successor = await rotate(old.apiKeyId, 60);
    const events = await api.database.source.query(
      'SELECT stream_id, type, data FROM events WHERE organization_id = $1 ORDER BY position OFFSET 4',
      [owner.organizationId],
    );
    const data = { successorId: successor.apiKeyId, overlapSeconds: 60 };
    expect(events).toEqual([
      { stream_id: old.apiKeyId, type: 'ApiKeyRotated', data },
      expect.objectContaining({ stream_id: successor.apiKeyId, type: 'ApiKeyCreated' }),
    ]);
  });

  it.each([
    ['without an Idempotency-Key', {}],
    ['with an Idempotency-Key', { 'Idempotency-Key': 'rotate' }],
  ])(
    'returns the same id without the key for repeats, and creates one successor for 20 parallel requests, %s',
    async (_, headers) => {
      const { apiKeyId } = await create();
      const before = await countOf('ApiKeyCreated');
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          dataOf(
            post('rotate', { apiKeyId, overlapSeconds: 60 }, owner.at(api.instances[n % 2]!.origin), headers),
          ),
        ),
      );
      const successors = new Set(answers.map((answer) => answer.apiKeyId));
      const keys = answers.flatMap(({ key }) => key ?? []);
      expect([successors.size, keys.length]).toEqual([1, 1]);
      expect(await statusesOf(keys[0])).toEqual([200, 200]);
      const again = await dataOf(post('rotate', { apiKeyId, overlapSeconds: 60 }, owner, headers));
      expect(again).toEqual({ apiKeyId: [...successors][0], key: null });
      expect([await countOf('ApiKeyCreated'), await countOf('ApiKeyRotated')]).toEqual([before + 1, 1]);
    },
  );

  it('allows a key to rotate itself, and its successor to do the same', async () => {
    const self = await clientWith({ scopes: ['api-key:write', 'post:read'] });
    const second = await dataOf(post('rotate', { apiKeyId: self.keyId, overlapSeconds: 60 }, self));
    const successor = new Client(api.origin, owner.organizationId, second.key);
    const third = await dataOf(post('rotate', { apiKeyId: second.apiKeyId, overlapSeconds: 60 }, successor));
    expect(await statusesOf(self.key!, second.key, third.key)).toEqual(Array(6).fill(200));
  });

  it('returns 409 for a different overlap, with the successor and the possible fixes', async () => {
    const { apiKeyId } = await create();
    const successor = await rotate(apiKeyId, 60);
    const answer = await post('rotate', { apiKeyId });
    expectError(answer, 409, 'CONFLICT', `overlapSeconds 60. Its successor is ${successor.apiKeyId}`);
    expect(answer.body.error.message).toContain('revoke');
  });

  it('returns 409 for revoked and expired keys, and suggests creating a new one', async () => {
    const revoked = await create();
    await revoke(revoked.apiKeyId);
    const expired = await clientWith({ expiresAt: new Date(Date.now() - 1).toISOString() });
    for (const apiKeyId of [revoked.apiKeyId, expired.keyId]) {
      expectError(await post('rotate', { apiKeyId }), 409, 'CONFLICT', 'Create a new one');
    }
    expect(await countOf('ApiKeyRotated')).toBe(0);
  });

  it.each([
    ['no apiKeyId', {}, 'apiKeyId'],
    ['an overlap below 0', { apiKeyId: NOBODY, overlapSeconds: -1 }, 'overlapSeconds'],
    ['an overlap of more than a day', { apiKeyId: NOBODY, overlapSeconds: 86_401 }, 'overlapSeconds'],
    ['half a second', { apiKeyId: NOBODY, overlapSeconds: 0.5 }, 'overlapSeconds'],
    ['an unknown field', { apiKeyId: NOBODY, scopes: ['*'] }, 'scopes'],
  ])('returns 400 for %s', async (_, fields, path) => {
    const { status, body } = await post('rotate', fields);
    expect([status, body.error.issues[0].path]).toEqual([400, path]);
  });
});

describe('revoke-api-key', () => {
  it('returns the same 200 for repeats, records one event, and keeps the revoked key in the list', async () => {
    const { apiKeyId, key } = await create();
    expect(await statusesOf(key)).toEqual([200, 200]);
    for (const headers of [{}, {}, { 'Idempotency-Key': 'a' }, { 'Idempotency-Key': 'a' }]) {
      const { status, body } = await revoke(apiKeyId, owner, headers as Headers);
      expect([status, body]).toEqual([200, { data: { apiKeyId }, object: 'api-key' }]);
    }
    const { revokedAt } = await record(apiKeyId);
    expect(revokedAt).toMatch(ISO);
    expect(await countOf('ApiKeyRevoked')).toBe(1);
    await refusedSoon(key);
  });

  it('ends a rotated key during its overlap, but not its successor', async () => {
    const old = await create();
    const successor = await rotate(old.apiKeyId, 3_600);
    const { revokedAt } = await record(old.apiKeyId);
    await revoke(old.apiKeyId);
    expect(Date.parse((await record(old.apiKeyId)).revokedAt)).toBeLessThan(Date.parse(revokedAt));
    await refusedSoon(old.key);
    expect(await statusesOf(successor.key)).toEqual([200, 200]);
  });

  it('returns 200 without an event if the overlap is over', async () => {
    const { apiKeyId } = await create();
    await rotate(apiKeyId);
    const before = await record(apiKeyId);
    expect((await revoke(apiKeyId)).status).toBe(200);
    expect([await record(apiKeyId), await countOf('ApiKeyRevoked')]).toEqual([before, 0]);
  });

  it('returns 400 without an apiKeyId', async () => {
    const { status, body } = await owner.delete('api-key.revoke-api-key', {});
    expect([status, body.error.issues[0].path]).toEqual([400, 'apiKeyId']);
  });
});

describe('streaming with a key that is revoked during the stream', () => {
  /** The first chunk of each body, and the chunks that follow. */
  const BODIES: {
    [operation: string]: { path: string; type: string; first: string; piece: (n: number) => string };
  } = {
    'contact.import-contacts': {
      path: 'contact.import-contacts?subscribed=true',
      type: 'text/csv',
      first: 'email\n',
      piece: (n) => `person-${n}@example.org\n`,
    },
    'import.create-import': {
      path: 'import.create-import?subscribed=true',
      type: 'text/csv',
      first: 'email\n',
      piece: (n) => `person-${n}@example.org\n`,
    },
    'petition.import-signatures': {
      path: 'petition.import-signatures?subscribed=true',
      type: 'text/csv',
      first: 'email\n',
      piece: (n) => `person-${n}@example.org\n`,
    },
    'image.upload-image': {
      path: 'image.upload-image',
      type: 'image/png',
      first: '\x89PNG\r\n\x1a\n',
      piece: () => 'x',
    },
  };
  const ANSWERS = ['contact.export-contacts', 'history.export-events'];

  it('covers every streaming operation', () => {
    const operations = Object.keys(OPERATIONS).map((name) => operationOf(operationNamed(name))!);
    const namesOf = (of: 'bodyTypes' | 'answerTypes') =>
      operations.flatMap((one) => (one[of] ? [one.name] : [])).toSorted();
    expect(namesOf('bodyTypes')).toEqual(Object.keys(BODIES).toSorted());
    // These need a record. The server cuts off every streamed response in the same way.
    const withId = [
      ...['petition.export-signatures', 'petition.get-count-certificate', 'petition.get-delivery'],
      ...['contact.export-person', 'import.get-import-rows', 'import.get-import-problems'],
    ];
    expect(namesOf('answerTypes')).toEqual([...ANSWERS, ...withId].toSorted());
  });

  it.each(Object.keys(BODIES))('%s stops reading and returns 401', async (operation) => {
    const { type, first, piece } = BODIES[operation]!;
    const caller = await clientWith({ scopes: ['*'] });
    let { path } = BODIES[operation]!;
    if (operation.startsWith('petition.')) {
      const { petitionId } = (await owner.post('petition.create-petition', { name: 'Streamed' })).body.data;
      await owner.post('petition.publish-petition', { petitionId });
      path += `&petitionId=${petitionId}`;
    }
    const sent = request(`${api.origin}/v1/${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${caller.key}`, 'Content-Type': type },
    });
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    let isOver = false;
    void answered.finally(() => (isOver = true));
    sent.write(first);
    await revoke(caller.keyId);
    let n = 0;
    await eventually(() => {
      sent.write(piece(n));
      n += 1;
      expect(isOver).toBe(true);
    });
    const [response] = await answered;
    const { error } = JSON.parse(await text(response));
    expect([response.statusCode, error.reason]).toEqual([401, 'KEY_INVALID']);
    sent.destroy();
    // Only lines that arrived until just after the revocation may have been imported.
    const { length } = (await owner.get('contact.list-contacts', { limit: '100' })).body.data;
    expect(length).toBeLessThan(100);
  });

  it('cuts off each streamed response', async () => {
    const bio = '🎈'.repeat(5_000);
    const people = Array.from({ length: 500 }, (_, n) => JSON.stringify({ email: `${n}@example.org`, bio }));
    const path = '/v1/contact.import-contacts?subscribed=false';
    const imported = await owner.request('POST', path, people.join('\n'), {
      'Content-Type': 'application/x-ndjson',
    });
    expect(imported.body.data.created).toBe(500);
    for (const operation of someOf(ANSWERS)) {
      const caller = await clientWith({ scopes: ['*'] });
      const exporting = request(`${api.origin}/v1/${operation}`, {
        headers: { Authorization: `Bearer ${caller.key}` },
      });
      const answered = once(exporting, 'response') as Promise<[IncomingMessage]>;
      exporting.end();
      const [response] = await answered;
      expect([operation, response.statusCode]).toEqual([operation, 200]);
      // The client has not read it yet, so the server cannot have sent everything.
      await revoke(caller.keyId);
      await refusedSoon(caller.key!);
      await expect(text(response)).rejects.toThrow('aborted');
    }
  });
});

it('returns 404 for keys of another organization, which stay active', async () => {
  const { apiKeyId, key } = await create();
  const other = await api.organization();
  const { organizationId } = owner;
  for (const id of [apiKeyId, NOBODY, 'x', organizationId]) {
    expectError(await post('rotate', { apiKeyId: id }, other), 404, 'NOT_FOUND');
    expectError(await revoke(id, other), 404, 'NOT_FOUND');
  }
  expect((await list({}, other)).map(({ name }) => name)).toEqual(['Test', 'First key']);
  const answers = [
    await post('create', { name: 'Mine', organizationId }, other),
    await post('rotate', { apiKeyId, organizationId }, other),
    await other.delete('api-key.revoke-api-key', { apiKeyId, organizationId }),
    await other.get('api-key.list-api-keys', { organizationId }),
  ];
  for (const answer of answers) expectError(answer, 403, 'FORBIDDEN');
  expect(await statusesOf(key)).toEqual([200, 200]);
  expect(await countOf('ApiKeyCreated')).toBe(3);
});

describe('scopes', () => {
  // `documentation.e2e.spec.ts` checks that servers serve this document. operations.ts has the expected scope
  // of each operation.
  const { paths } = JSON.parse(readFileSync(join(__dirname, 'openapi.json'), 'utf8'));
  const operations = Object.entries<Record<string, any>>(paths)
    .filter(([path]) => path.startsWith('/v1/'))
    .map(([path, methods]) => {
      const [method, documented] = Object.entries(methods)[0]!;
      return { path, method: method.toUpperCase(), scope: documented['x-required-scope'] as string };
    });

  it('exist for every operation', () => {
    const needed = operations.map(({ scope }) => scope);
    expect(needed.length).toBeGreaterThan(10);
    expect(SCOPES).toEqual(expect.arrayContaining(needed));
  });

  // Other tests call each operation with a key that has `*`.
  it.each(someOf(SCOPES.toSorted((one, other) => Number(one === '*') - Number(other === '*'))))(
    'permit a key with %s exactly the operations that need it',
    async (scope) => {
      const client = await clientWith({ scopes: [scope] });
      for (const operation of operations) {
        const body = operation.method === 'GET' ? undefined : '{}';
        const answer = await client.request(operation.method, operation.path, body);
        const mayNot = answer.body.error?.code === 'INSUFFICIENT_PERMISSIONS';
        // Without its fields no operation does anything: 200, 400, or 415 if the body is not JSON.
        // create-api-key has its own 403, for scopes that the caller lacks.
        expect([operation.path, mayNot]).toEqual([
          operation.path,
          scope !== '*' && scope !== operation.scope,
        ]);
        if (!mayNot)
          expect([operation.path, [200, 400, 415]]).toEqual([
            operation.path,
            expect.arrayContaining([answer.status]),
          ]);
      }
    },
  );
});

describe('the secret of an API key', () => {
  /** A key in today's form, or with its hash in the personal data of its stream. */
  async function storeKey(isPersonal: boolean) {
    const [publicId, secret] = [randomBytes(4).toString('hex'), randomBytes(20).toString('hex')];
    const secretHash = createHash('sha256').update(secret).digest('hex');
    const details = { name: 'Stored', publicId, scopes: ['*'], rateLimit: 'unlimited', expiresAt: null };
    const event = isPersonal
      ? { type: 'ApiKeyCreated', data: details, personal: { secretHash } }
      : { type: 'ApiKeyCreated', data: { ...details, secretHash } };
    const { app, runtime } = api.instances[0]!;
    const streamId = uuid();
    const write = {
      ...{ streamType: 'api-key', streamId, expectedVersion: 0, events: [event] },
      ...(isPersonal ? { subjectId: streamId } : {}),
    };
    const metadata = { actor: { type: 'system' as const, id: 'test' }, requestId: 'test' };
    await runtime.store.append({ organizationId: owner.organizationId, metadata, writes: [write] });
    await app.get(Projections).catchUpWithLog();
    return {
      id: streamId,
      client: new Client(api.origin, owner.organizationId, `adv_${publicId}_${secret}`),
      secretHash,
    };
  }

  it.each([
    ['in the data of its event', false],
    ['in the personal part of its event', true],
  ])('if its hash is stored %s, no event shows it, and the proofs verify', async (_, isPersonal) => {
    const { id, client, secretHash } = await storeKey(isPersonal);
    expect((await client.get('contact.list-contacts')).status).toBe(200);
    const { body: keys } = await client.get('api-key.list-api-keys');
    expect(keys.data.map(({ name }: any) => name)).toContain('Stored');

    const { body } = await owner.get('history.list-events', { recordId: id });
    const [event] = body.data;
    const one = await owner.get('history.get-event', { eventId: event.id });
    for (const shown of [event, one.body.data]) {
      expect(shown).toMatchObject({ type: 'ApiKeyCreated', data: { name: 'Stored' } });
      expect(JSON.stringify(shown)).not.toMatch(new RegExp(`secretHash|${secretHash}`));
    }
    const proof = await owner.get('history.get-proof', { eventId: event.id });
    const exported = (await owner.get('history.export-events')).body;
    expect(exported.includes(secretHash)).toBe(!isPersonal);
    const { verifierKey } = api.instances[0]!.runtime.signers;
    expect(await verifyTwice(exported, proof.body.data.checkpoint, verifierKey)).toMatchObject({ ok: true });

    const { body: rotated } = await client.post('api-key.rotate-api-key', {
      apiKeyId: id,
      overlapSeconds: 60,
    });
    expect(rotated.data.key).toMatch(/^adv_/);
  });
});
