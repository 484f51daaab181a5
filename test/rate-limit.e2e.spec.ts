import { createHash, randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { Projections } from '#libs/projections';
import { eventually, type RedisServer, startRedis } from '#libs/testing';
import { type CreateApiKey } from '../src/auth/index.js';
import { type Answer, Api, Client } from './harness.js';

import { before as versionBefore, ReleaseBuild } from './releases.js';
import { longIt, someOf } from './length.js';

/** The rate limit headers. */
function limitHeaders({ headers }: Answer): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => /limit|retry/.test(name)));
}

function statuses(answers: Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Runs a round within one second of Redis's clock, which tests cannot set. If it takes longer, it is repeated with a new client. */
async function withinOneSecond<Result>(
  round: () => Promise<() => Promise<Result>> | (() => Promise<Result>),
): Promise<Result> {
  for (let attempts = 0; attempts < 100; attempts += 1) {
    const run = await round();
    const start = performance.now();
    const result = await run();
    if (performance.now() - start < 950) return result;
  }
  throw new Error('This machine is too busy: no round took less than a second.');
}

/** The clock of an instance without Redis, which a test stops and moves. */
class Clock {
  private readonly true = performance.now.bind(performance);
  private aheadMs = 0;
  private standsAt: number | undefined;
  private readonly spy = jest
    .spyOn(performance, 'now')
    .mockImplementation(() => this.standsAt ?? this.true() + this.aheadMs);

  /** Moves past the window of everything counted so far. */
  passSecond(): void {
    this.aheadMs += 1_000;
  }

  async standStill<Result>(run: () => Promise<Result>): Promise<Result> {
    this.standsAt = performance.now();
    try {
      return await run();
    } finally {
      this.standsAt = undefined;
    }
  }

  restore(): void {
    this.spy.mockRestore();
  }
}

const randomText = (length: number) => randomBytes(length).toString('hex').slice(0, length);

let addresses = 0;
function newAddress(): Record<string, string> {
  addresses += 1;
  return { 'X-Forwarded-For': `10.3.${addresses >> 8}.${addresses & 255}` };
}

function list(client: Client, headers: Record<string, string> = {}): Promise<Answer> {
  return client.get('contact.list-contacts', {}, headers);
}

/** One organization per server. Keys created by the operator are not counted for their organization. */
const organizations = new Map<Api, Promise<Client>>();

async function clientWith(api: Api, options: Partial<CreateApiKey> = {}): Promise<Client> {
  if (!organizations.has(api)) organizations.set(api, api.organization());
  const { organizationId } = await organizations.get(api)!;
  const { key } = await api.createKey(organizationId, { rateLimit: null, ...options });
  return new Client(api.origin, organizationId, key);
}

describe('on one instance', () => {
  let api: Api;
  let clock: Clock;
  beforeAll(async () => {
    clock = new Clock();
    api = await Api.start({ environment: { TRUST_PROXY: 'true' } });
  });
  afterAll(async () => {
    await api.stop();
    clock.restore();
  });

  /** Runs a round while the clock is stopped, so that it lies within one second. */
  async function atOneMoment<Result>(
    round: () => Promise<() => Promise<Result>> | (() => Promise<Result>),
  ): Promise<Result> {
    return clock.standStill(await round());
  }

  /** The headers of the first request. @param reason of the error beyond the limit. */
  const firstOf = (reason: string) => ({
    'ratelimit-limit': '10',
    'ratelimit-remaining': '9',
    'ratelimit-reset': '1',
    'ratelimit-policy': `"${reason}";q=10;w=1`,
    ratelimit: `"${reason}";r=9;t=1`,
  });
  const first = firstOf('KEY_RATE');

  it.each<[number, string, (client: Client) => Promise<Answer>]>([
    [200, 'a success', (client) => list(client)],
    [400, 'invalid input', (client) => client.post('contact.create-contact', {})],
    [400, 'invalid JSON', (client) => client.request('POST', '/v1/contact.create-contact', '{')],
    [403, 'another organization', (client) => client.get('contact.list-contacts', { organizationId: 'x' })],
    [404, 'an unknown record', (client) => client.post('contact.update-contact', { contactId: 'x' })],
    [404, 'an unknown operation', (client) => client.get('contact.no-such-operation')],
    [404, 'an unknown path', (client) => client.request('POST', '/somewhere')],
    [404, 'a path that cannot be decoded', (client) => client.request('GET', '/%zz')],
    [404, 'a log of another organization', (client) => client.request('GET', '/log/x/checkpoint')],
    [405, 'a wrong method', (client) => client.request('PUT', '/v1/contact.list-contacts')],
    [
      415,
      'a wrong content type',
      (client) => client.post('contact.create-contact', {}, { 'Content-Type': 'text/plain' }),
    ],
  ])('counts a %s for %s, and returns the remaining requests', async (status, _, send) => {
    const answer = await send(await clientWith(api));
    expect(answer.status).toBe(status);
    expect(limitHeaders(answer)).toEqual(first);
  });

  it('counts a 403 for a missing scope', async () => {
    const answer = await list(await clientWith(api, { scopes: ['petition:read'] }));
    expect([answer.status, limitHeaders(answer)]).toEqual([403, first]);
  });

  it('counts a 401 against the address', async () => {
    const stranger = new Client(api.origin, '', undefined);
    const answer = await list(stranger, newAddress());
    expect([answer.status, limitHeaders(answer)]).toEqual([401, firstOf('ADDRESS_RATE')]);
  });

  it('counts reads of any public log without a key against the address', async () => {
    const paths: string[] = [];
    for (let n = 0; n < 2; n += 1) {
      const owner = await api.organization();
      await owner.post('organization.update-organization', { publicLog: true });
      paths.push(`/log/${owner.organizationId}/checkpoint`);
    }
    const stranger = new Client(api.origin, '', undefined);
    const answers = await atOneMoment(() => {
      const address = newAddress();
      return async () => {
        const all: Answer[] = [];
        for (let n = 0; n < 11; n += 1) {
          all.push(
            await stranger.request('GET', [...paths, '/log/x/checkpoint'][n % 3]!, undefined, address),
          );
        }
        return all;
      };
    });
    expect(limitHeaders(answers[0]!)).toEqual(firstOf('ADDRESS_RATE'));
    expect(answers.map(({ status }) => status)).toEqual([...Array(3).fill([200, 200, 404]).flat(), 200, 429]);
    expect(answers[10]!.body.error.reason).toBe('ADDRESS_RATE');
  });

  it('returns 429 with Retry-After for the eleventh request in a second, and then 200 again', async () => {
    const { client, answers } = await atOneMoment(async () => {
      const client = await clientWith(api);
      return async () => {
        const answers: Answer[] = [];
        for (let n = 0; n < 5; n += 1) answers.push(await list(client), await client.get('contact.nothing'));
        answers.push(await list(client), await client.post('contact.create-contact', {}));
        return { client, answers };
      };
    });
    expect(answers.slice(0, 10).map((answer) => limitHeaders(answer)['ratelimit-remaining'])).toEqual(
      Array.from({ length: 10 }, (_, n) => String(9 - n)),
    );
    for (const refused of answers.slice(10)) {
      expect([refused.status, refused.body.error.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
      expect(refused.body.error.message).toContain('10 requests per second');
      expect(refused.body.error.requestId).toBe(refused.headers.get('x-request-id'));
      expect(limitHeaders(refused)).toEqual({
        ...first,
        'ratelimit-remaining': '0',
        ratelimit: '"KEY_RATE";r=0;t=1',
        'retry-after': '1',
      });
    }
    clock.passSecond();
    expect((await list(client)).status).toBe(200);
  });

  it('accepts exactly the key’s limit of parallel requests', async () => {
    for (const rateLimit of [1, 3, 25]) {
      const answers = await atOneMoment(async () => {
        const client = await clientWith(api, { rateLimit });
        return () => Promise.all(Array.from({ length: rateLimit + 9 }, () => list(client)));
      });
      expect(statuses(answers)).toEqual({ 200: rateLimit, 429: 9 });
      expect(limitHeaders(answers[0]!)['ratelimit-limit']).toBe(String(rateLimit));
    }
  });

  it('never limits an unlimited key', async () => {
    const client = await clientWith(api, { rateLimit: 'unlimited' });
    const answers = await Promise.all(Array.from({ length: 20 }, () => list(client)));
    expect(statuses(answers)).toEqual({ 200: 20 });
    expect(limitHeaders(answers[0]!)).toEqual({});
  });

  it('counts two keys of an organization separately', async () => {
    const answers = await atOneMoment(async () => {
      const client = await clientWith(api);
      const { key } = await api.createKey(client.organizationId, { rateLimit: null });
      const twin = new Client(api.origin, client.organizationId, key);
      return () => Promise.all(Array.from({ length: 20 }, (_, n) => list(n % 2 === 0 ? client : twin)));
    });
    expect(statuses(answers)).toEqual({ 200: 20 });
  });

  it('counts a key and its successors together, after any number of rotations', async () => {
    const answers = await atOneMoment(async () => {
      const owner = await api.organization();
      const { id, key } = await api.createKey(owner.organizationId, { rateLimit: 10 });
      const line = [{ apiKeyId: id, key }];
      for (let n = 0; n < 3; n += 1) {
        const { apiKeyId } = line.at(-1)!;
        const rotation = await owner.post('api-key.rotate-api-key', { apiKeyId, overlapSeconds: 60 });
        line.push(rotation.body.data);
      }
      const clients = line.map(({ key }) => new Client(api.origin, owner.organizationId, key));
      return () => Promise.all(Array.from({ length: 16 }, (_, n) => list(clients[n % clients.length]!)));
    });
    expect(statuses(answers)).toEqual({ 200: 10, 429: 6 });
  });

  it('also counts keys created by keys against their organization, but not those of the operator', async () => {
    const small = await api.addInstance({ ORGANIZATION_RATE_LIMIT: '12' });
    const answers = await atOneMoment(async () => {
      const owner = await api.organization();
      const made = async (fields: object): Promise<Client> => {
        const { body } = await owner.post('api-key.create-api-key', { name: 'Made', ...fields });
        return new Client(small.origin, owner.organizationId, body.data.key);
      };
      const [one, two, three] = [
        await made({}),
        await made({ rateLimit: 500 }),
        await made({ rateLimit: 3 }),
      ];
      // The successor of an operator's key counts like one, too.
      const { id } = await api.createKey(owner.organizationId);
      const { body } = await owner.post('api-key.rotate-api-key', { apiKeyId: id });
      const rotated = new Client(small.origin, owner.organizationId, body.data.key);
      await Promise.all(
        [one, two, three, rotated].map((client) => client.at(api.origin)).map((client) => list(client)),
      );
      clock.passSecond();
      return async () => {
        const ask = (client: Client, count: number) =>
          Promise.all(Array.from({ length: count }, () => list(client)));
        return {
          three: await ask(three, 5),
          one: await ask(one, 6),
          two: await ask(two, 9),
          operators: [...(await ask(owner.at(small.origin), 14)), ...(await ask(rotated, 14))],
        };
      };
    });
    expect(statuses(answers.three)).toEqual({ 200: 3, 429: 2 });
    expect(limitHeaders(answers.three[0]!)).toMatchObject({
      'ratelimit-limit': '3',
      'ratelimit-remaining': '2',
    });
    expect(statuses(answers.one)).toEqual({ 200: 6 });
    expect(limitHeaders(answers.one[5]!)).toMatchObject({
      'ratelimit-limit': '12',
      'ratelimit-remaining': '3',
    });
    expect(statuses(answers.two)).toEqual({ 200: 3, 429: 6 });
    const refused = answers.two.find(({ status }) => status === 429)!;
    expect(limitHeaders(refused)).toMatchObject({ 'ratelimit-limit': '12', 'retry-after': '1' });
    expect(refused.body.error.message).toContain(
      'The API keys of your organization share a limit of 12 requests per second.',
    );
    expect(statuses(answers.operators)).toEqual({ 200: 28 });
    expect(limitHeaders(answers.operators[0]!)).toEqual({});
  });

  it('counts requests without a valid key against their address, never against a key', async () => {
    const { strangers, answer } = await atOneMoment(async () => {
      const client = await clientWith(api);
      const revoked = await api.createKey(client.organizationId);
      await api.revokeKey(client.organizationId, revoked.id);
      const address = newAddress();
      const wrongSecret = client.key!.replace(/.{8}$/, 'xxxxxxxx');
      const keys = [wrongSecret, revoked.key, undefined, 'adv_unknown'];
      return async () => {
        const strangers: Answer[] = [];
        for (let n = 0; n < 12; n += 1) {
          strangers.push(await list(new Client(api.origin, '', keys[n % keys.length]), address));
        }
        return { strangers, answer: await list(client, address) };
      };
    });
    expect(statuses(strangers)).toEqual({ 401: 10, 429: 2 });
    expect([answer.status, limitHeaders(answer)]).toEqual([200, first]);
  });

  it('limits lookups of unverifiable keys per address, but not of valid ones', async () => {
    const client = await clientWith(api);
    const old = async () => {
      const [publicId, secret] = [randomText(8), randomText(40)];
      const secretHash = createHash('sha256').update(secret).digest('hex');
      const details = { name: 'Old', publicId, secretHash, scopes: ['*'], rateLimit: null, expiresAt: null };
      const { app, runtime } = api.instances[0]!;
      const metadata = { actor: { type: 'system' as const, id: 'test' }, requestId: 'test' };
      const events = [{ type: 'ApiKeyCreated', data: details }];
      const write = { streamType: 'api-key', streamId: uuidv7(), expectedVersion: 0, events };
      const { organizationId } = client;
      await runtime.store.append({ organizationId, metadata, writes: [write] });
      await app.get(Projections).catchUpWithLog();
      return new Client(api.origin, organizationId, `adv_${publicId}_${secret}`);
    };
    const [known, unknown] = [await old(), await old()];
    const answers = await atOneMoment(async () => {
      const address = newAddress();
      // One key was used before. The other one is used only after its address is flooded.
      expect(limitHeaders(await list(known, address))).toMatchObject({ 'ratelimit-limit': '10' });
      clock.passSecond();
      return async () => {
        const strangers = Array.from(
          { length: 20 },
          (_, n) => new Client(api.origin, '', `adv_${randomText(8)}_${randomText(n % 2 === 0 ? 40 : 46)}`),
        );
        const refused = await Promise.all(strangers.map((stranger) => list(stranger, address)));
        return {
          refused,
          good: [await list(client, address), await list(known, address)],
          late: await list(unknown, address),
        };
      };
    });
    expect(statuses(answers.refused)).toEqual({ 401: 10, 429: 10 });
    expect(statuses(answers.good)).toEqual({ 200: 2 });
    expect(answers.late.status).toBe(200);
  });

  it('trusts X-Forwarded-For only with TRUST_PROXY', async () => {
    const untrusting = await api.addInstance({ TRUST_PROXY: 'false' });
    for (const [origin, expected] of [
      [api.origin, { 401: 12 }],
      [untrusting.origin, { 401: 10, 429: 2 }],
    ] as const) {
      const answers = await atOneMoment(() => {
        // Clears the counts of the previous round.
        clock.passSecond();
        return () =>
          Promise.all(
            Array.from({ length: 12 }, () => list(new Client(origin, '', undefined), newAddress())),
          );
      });
      expect(statuses(answers)).toEqual(expected);
    }
  });

  it('counts a client’s whole IPv6 network as one address', async () => {
    const stranger = new Client(api.origin, '', undefined);
    const answers = await atOneMoment(() => {
      addresses += 1;
      const from = (n: number) => ({ 'X-Forwarded-For': `2001:db8:0:${addresses}::${n + 1}` });
      return () => Promise.all(Array.from({ length: 12 }, (_, n) => list(stranger, from(n))));
    });
    expect(statuses(answers)).toEqual({ 401: 10, 429: 2 });
  });

  it('does not limit health checks and documentation', async () => {
    const stranger = new Client(api.origin, '', undefined);
    const address = newAddress();
    for (const path of ['/health/live', '/health/ready', '/docs', '/openapi.json', '/errors/NOT_FOUND']) {
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => stranger.request('GET', path, undefined, address)),
      );
      expect(statuses(answers)).toEqual({ 200: 12 });
      expect(limitHeaders(answers[0]!)).toEqual({});
    }
  });
});

describe('on two instances with Redis', () => {
  let redis: RedisServer;
  let api: Api;
  beforeAll(async () => {
    redis = await startRedis();
    api = await Api.start({
      instances: 2,
      environment: { REDIS_URL: redis.url, ORGANIZATION_RATE_LIMIT: '20' },
    });
  });
  afterAll(async () => {
    redis.resume();
    await api.stop();
    await redis.stop();
  });

  async function redisHealth(): Promise<string[]> {
    return Promise.all(
      api.instances.map(async ({ origin }) => {
        const { status, body } = await new Client(origin, '', undefined).request('GET', '/health/ready');
        expect(status).toBe(200);
        return `${body.data.status}, redis ${body.data.redis}`;
      }),
    );
  }
  const SHARED = 'ok, redis ok';
  const LOCAL = 'degraded, redis not used: limits apply per instance';

  async function until(health: string): Promise<void> {
    await eventually(async () => expect(new Set(await redisHealth())).toEqual(new Set([health])));
  }

  /** 24 parallel requests with a limit of 10 per second on both instances, while `health` does not change. */
  async function burst(health: string): Promise<Answer[]> {
    for (;;) {
      await until(health);
      const answers = await withinOneSecond(async () => {
        const client = await clientWith(api);
        return () =>
          Promise.all(Array.from({ length: 24 }, (_, n) => list(client.at(api.instances[n % 2]!.origin))));
      });
      if ((await redisHealth()).every((found) => found === health)) return answers;
    }
  }

  it('accepts exactly 10 of 24 parallel requests on either instance', async () => {
    expect(statuses(await burst(SHARED))).toEqual({ 200: 10, 429: 14 });
  });

  longIt(`counts together with an instance of ${versionBefore.version}, as during an upgrade`, async () => {
    const build = await ReleaseBuild.of(versionBefore);
    if (typeof build === 'string') return console.log(`Skipped: ${build}`);
    const older = await build.start({
      DATABASE_URL: api.database.url,
      ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      REDIS_URL: redis.url,
      PORT: '0',
    });
    try {
      const answers = await withinOneSecond(async () => {
        await until(SHARED);
        const here = await clientWith(api);
        const both = [here, here.at(older.origin)];
        return () => Promise.all(Array.from({ length: 40 }, (_, n) => list(both[n % 2]!)));
      });
      expect(statuses(answers)).toEqual({ 200: 10, 429: 30 });
    } finally {
      await older.end('SIGTERM');
    }
  });

  it('counts all keys of an organization across both instances', async () => {
    const answers = await withinOneSecond(async () => {
      await until(SHARED);
      const owner = await api.organization();
      const clients: Client[] = [];
      for (let n = 0; n < 4; n += 1) {
        const fields = { name: `Key ${n}`, rateLimit: 60 };
        const { body } = await owner.post('api-key.create-api-key', fields);
        clients.push(new Client(api.instances[n % 2]!.origin, owner.organizationId, body.data.key));
      }
      return () => Promise.all(Array.from({ length: 32 }, (_, n) => list(clients[n % 4]!)));
    });
    expect(statuses(answers)).toEqual({ 200: 20, 429: 12 });
  });

  it('counts a client’s address across both instances', async () => {
    const answers = await withinOneSecond(async () => {
      await until(SHARED);
      await sleep(1_000);
      return () =>
        Promise.all(
          Array.from({ length: 20 }, (_, n) => list(new Client(api.instances[n % 2]!.origin, '', undefined))),
        );
    });
    expect(statuses(answers)).toEqual({ 401: 10, 429: 10 });
  });

  const OUTAGES: [string, () => Promise<void> | void, () => Promise<void> | void][] = [
    [
      'has crashed',
      () => redis.stop(),
      async () => {
        redis = await startRedis(redis.port);
      },
    ],
    ['hangs', () => redis.freeze(), () => redis.resume()],
  ];
  it.each(someOf(OUTAGES))(
    'continues while Redis %s, with each instance on its own, and then shares the counts again automatically',
    async (_, stop, start) => {
      await until(SHARED);
      const client = await clientWith(api, { rateLimit: 1_000 });
      await stop();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => list(client.at(api.instances[n % 2]!.origin))),
      );
      expect(statuses(answers)).toEqual({ 200: 20 });

      const separate = await burst(LOCAL);
      expect(statuses(separate)).toEqual({ 200: 20, 429: 4 });
      expect(limitHeaders(separate.find(({ status }) => status === 429)!)).toEqual({
        'ratelimit-limit': '10',
        'ratelimit-remaining': '0',
        'ratelimit-reset': '1',
        'ratelimit-policy': '"KEY_RATE";q=10;w=1',
        ratelimit: '"KEY_RATE";r=0;t=1',
        'retry-after': '1',
      });

      await start();
      expect(statuses(await burst(SHARED))).toEqual({ 200: 10, 429: 14 });
    },
  );
});
