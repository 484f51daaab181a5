import { randomUUID } from 'node:crypto';
import { type Redis } from 'ioredis';
import { type RedisServer, startRedis } from '#libs/testing';
import { connectRedis } from './redis-connection.js';
import { RedisStorage } from './redis-storage.js';
import { acceptedOf, hit, itIsASlidingWindow } from './storage.contract.js';

describe('RedisStorage', () => {
  let server: RedisServer | undefined;
  const connections: Redis[] = [];

  const connect = async (): Promise<Redis> => {
    const redis = (await connectRedis(process.env.REDIS_URL ?? server?.url ?? '')) as Redis;
    connections.push(redis);
    return redis;
  };

  beforeAll(async () => {
    if (!process.env.REDIS_URL) server = await startRedis();
    await connect();
  });
  afterAll(async () => {
    for (const redis of connections) redis.disconnect();
    await server?.stop();
  });

  itIsASlidingWindow(() => new RedisStorage(connections[0]!));

  it('gives two instances one budget', async () => {
    const storages = [new RedisStorage(await connect()), new RedisStorage(await connect())];
    const key = randomUUID();
    let turn = 0;
    expect(await acceptedOf(400, () => hit(storages[turn++ % 2]!, key, 3_600_000, 100))).toBe(100);
  });

  it('separates keys with another prefix', async () => {
    const redis = await connect();
    const key = randomUUID();
    await hit(new RedisStorage(redis, 'a:'), key, 3_600_000, 1);
    expect(await hit(new RedisStorage(redis, 'b:'), key, 3_600_000, 1)).toMatchObject({ isBlocked: false });
  });

  it('expires keys', async () => {
    const redis = await connect();
    const key = randomUUID();
    await hit(new RedisStorage(redis, 'expiring:'), key, 5_000, 1);
    const left = await redis.pttl(`expiring:${key}`);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(10_000);
  });

  it('survives the loss of its script', async () => {
    const redis = await connect();
    const storage = new RedisStorage(redis);
    const key = randomUUID();
    await hit(storage, key, 3_600_000, 100);
    await redis.script('FLUSH');
    expect(await acceptedOf(300, () => hit(storage, key, 3_600_000, 100))).toBe(99);
  });

  // The state that a replica with another clock takes over: requests accepted in its future.
  it.each([
    ['waits until a small backward step of the clock has passed', 500, true],
    ['starts again after a large one', 3_600_000, false],
  ])('%s', async (_, step, isBlocked) => {
    const redis = await connect();
    const key = randomUUID();
    const [seconds] = await redis.time();
    await redis.rpush(`rate-limit:${key}`, String((Number(seconds) * 1_000 + step + 1_000) * 1_000));
    expect(await hit(new RedisStorage(redis), key, 10_000, 1)).toMatchObject({ isBlocked });
  });
});

describe('connectRedis', () => {
  it('does not repeat an invalid URL', async () => {
    await expect(connectRedis('redis://:pass word@ho st')).rejects.toThrow(/^The Redis URL must look like/);
    await expect(connectRedis('redis://:secret@ho st')).rejects.not.toThrow(/secret/);
  });
});
