import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ThrottlerStorage } from '@nestjs/throttler';
import { type WindowStorage } from './window-storage.js';

const HOUR = 3_600_000;

/** A storage as the guard calls it. A sliding window ignores the last two arguments. */
export function hit(storage: ThrottlerStorage, key: string, ttl: number, limit: number) {
  return storage.increment(key, ttl, limit, ttl, 'default');
}

/** How many of `count` concurrent requests are accepted. */
export async function acceptedOf(count: number, request: () => ReturnType<typeof hit>): Promise<number> {
  const records = await Promise.all(Array.from({ length: count }, request));
  return records.filter(({ isBlocked }) => !isBlocked).length;
}

/** The contract of every storage of the rate limit. Each test uses its own key. */
export function itIsASlidingWindow(open: () => WindowStorage): void {
  let storage: WindowStorage;
  let key: string;

  beforeAll(() => {
    storage = open();
  });
  beforeEach(() => {
    key = randomUUID();
  });

  it('accepts exactly the limit of many concurrent requests', async () => {
    expect(await acceptedOf(500, () => hit(storage, key, HOUR, 100))).toBe(100);
  });

  it('applies a limit of 1,000', async () => {
    expect(await acceptedOf(2_500, () => hit(storage, key, HOUR, 1_000))).toBe(1_000);
  });

  it('counts each key separately', async () => {
    await acceptedOf(3, () => hit(storage, key, HOUR, 3));
    expect(await hit(storage, key, HOUR, 3)).toMatchObject({ isBlocked: true });
    expect(await hit(storage, `${key}-other`, HOUR, 3)).toMatchObject({ isBlocked: false, totalHits: 1 });
  });

  it('reports the requests in the window, and times in whole seconds', async () => {
    const first = { totalHits: 1, isBlocked: false, timeToExpire: 3_600, timeToBlockExpire: 0 };
    expect(await hit(storage, key, HOUR, 2)).toEqual(first);
    expect(await hit(storage, key, HOUR, 2)).toMatchObject({ totalHits: 2, isBlocked: false });
    const refused = await hit(storage, key, HOUR, 2);
    expect(refused).toMatchObject({ isBlocked: true, totalHits: 3, timeToExpire: refused.timeToBlockExpire });
    expect(refused.timeToExpire).toBeGreaterThan(3_500);
    expect(refused.timeToExpire).toBeLessThanOrEqual(3_600);
    expect(Number.isInteger(refused.timeToExpire)).toBe(true);
  });

  it('rounds up to whole seconds', async () => {
    expect(await hit(storage, key, 900, 1)).toMatchObject({ timeToExpire: 1 });
  });

  it('does not count rejected requests', async () => {
    await acceptedOf(3, () => hit(storage, key, 200, 3));
    // If rejected requests counted, a caller that keeps retrying would be locked out forever.
    while ((await hit(storage, key, 200, 3)).isBlocked) await sleep(1);
    expect((await hit(storage, key, HOUR, 3)).totalHits).toBeLessThanOrEqual(4);
  });

  it('obeys a limit that was lowered in the meantime', async () => {
    await acceptedOf(10, () => hit(storage, key, HOUR, 10));
    expect(await hit(storage, key, HOUR, 4)).toMatchObject({ isBlocked: true, totalHits: 11 });
  });

  it('accepts nothing with a limit of 0', async () => {
    expect(await hit(storage, key, HOUR, 0)).toMatchObject({ isBlocked: true, timeToBlockExpire: 3_600 });
  });

  it('accepts a request only if all of its windows have a place, and otherwise counts it in none', async () => {
    const two = (limit: number) =>
      storage.accept(
        [
          { key, group: key, limit },
          { key: `${key}-all`, group: key, limit: 3 },
        ],
        HOUR,
      );
    const full = { isBlocked: true, timeToBlockExpire: 3_600 };
    const free = { isBlocked: false, timeToBlockExpire: 0 };
    expect(await two(1)).toMatchObject([
      { ...free, totalHits: 1 },
      { ...free, totalHits: 1 },
    ]);
    for (let n = 0; n < 5; n += 1) expect(await two(1)).toMatchObject([full, { ...free, totalHits: 2 }]);
    expect(await acceptedOf(50, async () => (await two(100))[1]!)).toBe(2);
    expect(await two(100)).toMatchObject([{ ...free, totalHits: 4 }, full]);
    // Neither count has changed.
    expect(await hit(storage, key, HOUR, 4)).toMatchObject({ isBlocked: false, totalHits: 4 });
    const all = { key: `${key}-all`, group: key, limit: 4 };
    expect(await storage.accept([all], HOUR)).toMatchObject([{ isBlocked: false, totalHits: 4 }]);
  });

  it('never accepts more than the limit in any window, across many boundaries', async () => {
    const [ttl, limit] = [100, 5];
    const sent: number[] = [];
    const answered: number[] = [];
    const request = async () => {
      const start = performance.now();
      const { isBlocked } = await hit(storage, key, ttl, limit);
      if (isBlocked) return;
      sent.push(start);
      answered.push(performance.now());
    };
    const end = performance.now() + 20 * ttl;
    while (performance.now() < end) {
      await Promise.all(Array.from({ length: Math.ceil(Math.random() * 8) }, request));
      await sleep(Math.random() * 30);
    }

    // The n-th request was accepted between its sending and its response. A millisecond allows for the difference of two
    // clocks.
    sent.sort((a, b) => a - b);
    answered.sort((a, b) => a - b);
    const spans = answered.slice(limit).map((time, n) => time - (sent[n] ?? NaN));
    expect(spans.length).toBeGreaterThan(limit);
    expect(spans.filter((span) => !(span >= ttl - 1))).toEqual([]);
  });
}
