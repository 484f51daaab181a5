import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Redis } from 'ioredis';
import { type RedisServer, startRedis } from '#libs/testing';
import { connectRedis } from './redis-connection.js';
import { ResilientStorage } from './resilient-storage.js';
import { acceptedOf, hit } from './storage.contract.js';
import { longIt } from '../../test/length.js';

const HOUR = 3_600_000;

describe('ResilientStorage', () => {
  let server: RedisServer;
  let storage: ResilientStorage;
  let logged: string[];

  const open = async (url: string): Promise<ResilientStorage> => {
    logged = [];
    return new ResilientStorage(await connectRedis(url), {
      warn: (message: string) => logged.push(`warn: ${message}`),
      log: ({ message }: { message: string }) => logged.push(`log: ${message}`),
    });
  };
  const until = async (status: string) => {
    while (storage.status !== status) await sleep(10);
  };

  beforeEach(async () => {
    server = await startRedis();
    storage = await open(server.url);
  });
  afterEach(async () => {
    storage.onApplicationShutdown();
    await server.stop();
  });

  it('shares the budget while Redis responds, and logs nothing', async () => {
    const other = await open(server.url);
    const key = randomUUID();
    let turn = 0;
    expect(await acceptedOf(100, () => hit(turn++ % 2 ? storage : other, key, HOUR, 10))).toBe(10);
    expect(storage.status).toBe('shared');
    expect(logged).toEqual([]);
    other.onApplicationShutdown();
  });

  it('continues locally with the same limit when Redis crashes, and returns by itself', async () => {
    await server.stop();
    expect(await acceptedOf(100, () => hit(storage, randomUUID(), HOUR, 1))).toBe(100);
    const key = randomUUID();
    expect(await acceptedOf(100, () => hit(storage, key, HOUR, 10))).toBe(10);
    expect(storage.status).toBe('local');
    expect(logged).toEqual([expect.stringMatching(/^warn: Redis is unavailable/)]);

    server = await startRedis(server.port);
    await until('shared');
    expect(await acceptedOf(100, () => hit(storage, key, HOUR, 10))).toBe(10);
    expect(logged).toEqual([
      expect.anything(),
      'log: Redis is available again: all instances share one rate limit',
    ]);
  });

  it('loses no request in flight when Redis crashes', async () => {
    const key = randomUUID();
    const answers = Array.from({ length: 200 }, () => hit(storage, key, HOUR, 100));
    await server.stop();
    for (const { totalHits } of await Promise.all(answers)) expect(totalHits).toBeGreaterThan(0);
  });

  longIt('makes only the first requests wait for a hung Redis', async () => {
    const key = randomUUID();
    server.freeze();
    expect(await hit(storage, key, HOUR, 10)).toMatchObject({ isBlocked: false });
    expect(storage.status).toBe('local');

    // Resolved within the same turn of the event loop, so nothing was awaited.
    let turned = false;
    setImmediate(() => (turned = true));
    expect(await acceptedOf(1_000, () => hit(storage, key, HOUR, 10))).toBe(9);
    expect(turned).toBe(false);
    expect(logged).toEqual([expect.stringMatching(/^warn: .*no response within 250 ms/)]);

    // Long enough for several probes, each on a connection that hangs like the previous one.
    await sleep(3_500);
    expect(storage.status).toBe('local');
    server.resume();
    await until('shared');
    expect(logged).toHaveLength(2);
  });

  longIt('notices a loss without traffic', async () => {
    await server.stop();
    await until('local');
    server = await startRedis(server.port);
    await until('shared');
  });

  longIt('counts locally if the memory of Redis is full, and logs this once', async () => {
    const operator = (await connectRedis(server.url)) as Redis;
    await operator.config('SET', 'maxmemory', '1');
    for (const end = Date.now() + 3_500; Date.now() < end;) {
      // Some known and some new callers, over several probes.
      await Promise.all(['known', randomUUID()].map((key) => hit(storage, key, 1_000, 1_000)));
      await sleep(10);
    }
    expect(storage.status).toBe('local');
    expect(logged).toEqual([
      expect.stringMatching(/^warn: Redis is unavailable \(its memory is full: OOM.* Raise maxmemory/),
    ]);
    await operator.config('SET', 'maxmemory', '0');
    operator.disconnect();
    await until('shared');
    expect(logged).toHaveLength(2);
  });

  longIt('returns later to a Redis that soon rejects commands again', async () => {
    const operator = (await connectRedis(server.url)) as Redis;
    const probesIn = (stats: unknown) => Number(/cmdstat_evalsha:calls=(\d+)/.exec(String(stats))![1]);
    const lose = async () => {
      await operator.config('SET', 'maxmemory', '1');
      await until('local');
      const well = operator.pipeline().config('SET', 'maxmemory', '0').info('commandstats');
      const [, [, before]] = (await well.exec()) as [unknown, [unknown, string]];
      await until('shared');
      return probesIn(await operator.info('commandstats')) - probesIn(before);
    };
    for (const wanted of [1, 2, 4]) expect(await lose()).toBeGreaterThanOrEqual(wanted);
    operator.disconnect();
  });

  longIt('counts locally if Redis is a replica', async () => {
    const operator = (await connectRedis(server.url)) as Redis;
    await operator.replicaof('127.0.0.1', server.port);
    expect(await hit(storage, randomUUID(), HOUR, 10)).toMatchObject({ isBlocked: false });
    // Long enough for a wrong probe to show.
    await sleep(1_500);
    expect(logged).toEqual([expect.stringMatching(/^warn: .*READONLY/)]);

    await operator.replicaof('NO', 'ONE');
    await until('shared');
    operator.disconnect();
  });

  it('is not affected by a pause of its own process', async () => {
    const answer = hit(storage, randomUUID(), HOUR, 10);
    await sleep(0);
    for (const end = Date.now() + 400; Date.now() < end;);
    expect(await answer).toMatchObject({ isBlocked: false });
    expect(storage.status).toBe('shared');
  });

  it('starts without Redis, never logs the password, and uses Redis when it appears', async () => {
    const { port } = server;
    storage.onApplicationShutdown();
    await server.stop();
    storage = await open(`redis://:secret@127.0.0.1:${port}`);
    expect(await hit(storage, randomUUID(), HOUR, 10)).toMatchObject({ isBlocked: false });
    expect(storage.status).toBe('local');
    server = await startRedis(port);
    const operator = (await connectRedis(server.url)) as Redis;
    await operator.config('SET', 'requirepass', 'secret');
    operator.disconnect();
    await until('shared');
    expect(logged).toHaveLength(2);
    expect(logged.join()).not.toContain('secret');
  });
});
