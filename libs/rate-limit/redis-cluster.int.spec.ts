import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'ioredis';
import {
  eventually,
  RedisCluster,
  type RedisNode,
  RedisSentinel,
  type RedisServer,
  startRedis,
} from '#libs/testing';
import { longDescribe, longIt } from '../../test/length.js';
import { connectRedis } from './redis-connection.js';
import { RedisStorage } from './redis-storage.js';
import { ResilientStorage } from './resilient-storage.js';
import { acceptedOf, hit, itIsASlidingWindow } from './storage.contract.js';

const HOUR = 3_600_000;
const BACK = 'log: Redis is available again: all instances share one rate limit';

/** The storages that a test opened, and their log lines. */
class Limiter {
  private constructor(
    readonly storage: ResilientStorage,
    readonly logged: string[],
  ) {}

  static async open(url: string): Promise<Limiter> {
    const logged: string[] = [];
    const logger = {
      warn: (message: string) => logged.push(`warn: ${message}`),
      log: ({ message }: { message: string }) => logged.push(`log: ${message}`),
    };
    return new Limiter(new ResilientStorage(await connectRedis(url), logger), logged);
  }

  async until(status: 'shared' | 'local'): Promise<void> {
    while (this.storage.status !== status) await sleep(10);
  }
}

const limiters: Limiter[] = [];
async function open(url: string): Promise<Limiter> {
  const limiter = await Limiter.open(url);
  limiters.push(limiter);
  return limiter;
}
afterEach(() => {
  for (const { storage } of limiters.splice(0)) storage.onApplicationShutdown();
});

/** Expects two instances to share one budget: 10 of 40 requests pass. */
async function sharedAcceptedOf(one: Limiter, other: Limiter, key: string = randomUUID()): Promise<number> {
  let turn = 0;
  return acceptedOf(40, () => hit((turn++ % 2 ? one : other).storage, key, HOUR, 10));
}

describe('a Redis Cluster', () => {
  let cluster: RedisCluster;
  const [first, second, third, replica] = [0, 1, 2, 3].map((n) => () => cluster.nodes[n]!) as [
    () => RedisNode,
    () => RedisNode,
    () => RedisNode,
    () => RedisNode,
  ];
  let connection: Awaited<ReturnType<typeof connectRedis>>;

  beforeAll(async () => {
    cluster = await RedisCluster.start(3, 1);
    connection = await connectRedis(cluster.url);
  });
  afterAll(async () => {
    connection.disconnect();
    await cluster.stop();
  });

  itIsASlidingWindow(() => new RedisStorage(connection));

  it('is rejected if its URL is that of a single server, and vice versa', async () => {
    await expect(connectRedis(`redis://${first().address}`)).rejects.toThrow(/Add \?cluster=true/);
    const single = await startRedis();
    await expect(connectRedis(`${single.url}?cluster=true`)).rejects.toThrow(/without \?cluster=true/);
    await single.stop();
  });

  it('is found through one of its nodes, and spreads keys over all', async () => {
    const found = await connectRedis(`redis://${second().address}?cluster=true`);
    // Without the storage that counts by itself if a busy machine delays a response.
    for (let n = 0; n < 60; n += 1) await hit(new RedisStorage(found), randomUUID(), HOUR, 10);
    found.disconnect();
    for (const node of [first(), second(), third()]) expect(await node.ask('DBSIZE')).toBeGreaterThan(5);
  });

  it('gives two instances one budget, even after its scripts are lost', async () => {
    const [one, other] = [await open(cluster.url), await open(cluster.url)];
    for (const isLost of [false, true]) {
      // If the machine is busy, a response can be late. Then an instance counts by itself until Redis responds in time.
      await eventually(async () => {
        await Promise.all([one.until('shared'), other.until('shared')]);
        for (const { logged } of [one, other]) logged.length = 0;
        if (isLost) for (const node of [first(), second(), third()]) await node.ask('SCRIPT', 'FLUSH');
        expect(await sharedAcceptedOf(one, other)).toBe(10);
        expect([...one.logged, ...other.logged]).toEqual([]);
      });
    }
  });

  longIt('applies a limit exactly while its slot moves, without any interruption', async () => {
    const [one, other] = [await open(cluster.url), await open(cluster.url)];
    const group = randomUUID();
    const slot = new Command('get', [group]).getSlot();
    const nodes = [first(), second(), third()];
    const from = nodes[Math.floor(slot / Math.ceil(16_384 / 3))]!;
    const to = nodes.find((node) => node !== from)!;
    const windows = ['key', 'organization'].map((name) => ({ key: `${name}:${group}`, group, limit: 50 }));
    let [accepted, isMoving] = [0, true];
    const ask = async ({ storage }: Limiter) => {
      while (isMoving) {
        const records = await storage.accept(windows, HOUR);
        if (!records.some(({ isBlocked }) => isBlocked)) accepted += 1;
        await sleep(5);
      }
    };
    const asking = [ask(one), ask(other)];
    while (accepted < 10) await sleep(1);
    await cluster.moveSlot(slot, from, to, 200);
    while (accepted < 50) await sleep(10);
    await sleep(200);
    isMoving = false;
    await Promise.all(asking);
    expect(accepted).toBe(50);
    expect([...one.logged, ...other.logged]).toEqual([]);
    await cluster.moveSlot(slot, to, from);
  });

  longIt('continues locally while a node without a replica is down, and returns by itself', async () => {
    const [one, other] = [await open(cluster.url), await open(cluster.url)];
    await third().kill();
    await Promise.all([one.until('local'), other.until('local')]);
    for (let n = 0; n < 20; n += 1) expect(await sharedAcceptedOf(one, other)).toBe(20);
    // Long enough for probes on other nodes to succeed.
    await sleep(3_500);
    expect(one.storage.status).toBe('local');
    expect(one.logged).toEqual([expect.stringMatching(/^warn: Redis is unavailable \(.+\)/)]);

    await third().start();
    await Promise.all([one.until('shared'), other.until('shared')]);
    for (let n = 0; n < 20; n += 1) expect(await sharedAcceptedOf(one, other)).toBe(10);
    expect(one.logged).toEqual([expect.anything(), BACK]);
    await cluster.settled();
  });

  longIt('shares the budget again when a replica has taken over', async () => {
    const [one, other] = [await open(cluster.url), await open(cluster.url)];
    await first().kill();
    await Promise.all([one.until('local'), other.until('local')]);
    await Promise.all([one.until('shared'), other.until('shared')]);
    expect(String(await replica().ask('INFO', 'replication'))).toContain('role:master');
    for (let n = 0; n < 20; n += 1) expect(await sharedAcceptedOf(one, other)).toBe(10);
    expect(one.logged).toEqual([expect.stringMatching(/^warn: /), BACK]);

    // The old master returns as a replica, without any effect.
    await first().start();
    await cluster.settled();
    expect(await sharedAcceptedOf(one, other)).toBe(10);
    expect(one.logged).toHaveLength(2);
  });

  longIt(
    'reports what to set, and stays local, if it appears later at a URL that does not state it',
    async () => {
      const node = second();
      await node.kill();
      const limiter = await open(`redis://${node.address}`);
      await limiter.until('local');
      await node.start();
      await cluster.settled();
      await sleep(3_000);
      expect(limiter.storage.status).toBe('local');
      expect(limiter.logged).toEqual([
        expect.stringMatching(/^warn: Redis is unavailable/),
        expect.stringMatching(/^warn: .+ Add \?cluster=true/),
      ]);
    },
  );
});

longDescribe('Redis with sentinels', () => {
  let redis: RedisSentinel;
  beforeAll(async () => {
    redis = await RedisSentinel.start();
  });
  afterAll(() => redis.stop());

  it('counts on the master, and on the replica that takes over when the master crashes', async () => {
    const [one, other] = [await open(redis.url), await open(redis.url)];
    expect(await sharedAcceptedOf(one, other)).toBe(10);
    const old = await redis.master();
    await old.kill();
    await Promise.all([one.until('local'), other.until('local')]);
    await Promise.all([one.until('shared'), other.until('shared')]);
    expect(await redis.master()).not.toBe(old);
    expect(await sharedAcceptedOf(one, other)).toBe(10);
    expect(one.logged).toEqual([expect.stringMatching(/^warn: /), BACK]);

    await old.start();
    await old.says('role:slave');
    expect(await sharedAcceptedOf(one, other)).toBe(10);
    expect(one.logged).toHaveLength(2);
  });

  it('follows the master when an operator moves it', async () => {
    const [one, other] = [await open(redis.url), await open(redis.url)];
    const old = await redis.master();
    const replica = redis.nodes.find((node) => node !== old)!;
    await replica.says('master_link_status:up');
    await redis.moveMaster(old);
    await old.says('role:slave');
    // A round may hit any state of the failover. The last one finds all at the new master.
    for (;;) {
      await Promise.all([one.until('shared'), other.until('shared')]);
      const key = randomUUID();
      if ((await sharedAcceptedOf(one, other, key)) === 10 && one.storage.status === 'shared') {
        expect(await replica.ask('LLEN', `rate-limit:${key}`)).toBe(10);
        break;
      }
    }
    for (const { logged } of [one, other]) expect([0, 2]).toContain(logged.length);
  });

  it('starts while no sentinel responds, and uses them when they appear', async () => {
    await redis.sentinel.kill();
    const limiter = await open(redis.url);
    expect(await hit(limiter.storage, randomUUID(), HOUR, 10)).toMatchObject({ isBlocked: false });
    expect(limiter.storage.status).toBe('local');
    await redis.sentinel.start();
    await limiter.until('shared');
    expect(limiter.logged).toHaveLength(2);
  });
});

it('keeps the names of keys on a single server, which version 0.2.0 also uses', async () => {
  const server: RedisServer = await startRedis();
  const { storage } = await open(server.url);
  await storage.accept([{ key: 'key:1', group: 'o', limit: 1 }], HOUR);
  const redis = await connectRedis(server.url);
  expect(await redis.exists('rate-limit:key:1')).toBe(1);
  redis.disconnect();
  await server.stop();
});
