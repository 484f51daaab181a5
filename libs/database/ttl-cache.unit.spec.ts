import { TtlCache } from './ttl-cache.js';

let now = 0;
beforeEach(() => {
  now = 1_000;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});

it('computes a value once until it expires', async () => {
  const kept = new TtlCache<number>(1_000);
  const make = jest.fn(() => Promise.resolve(7));
  expect(await Promise.all([kept.get('a', make), kept.get('a', make)])).toEqual([7, 7]);
  expect(make).toHaveBeenCalledTimes(1);
  now += 1_000;
  await kept.get('a', make);
  expect(make).toHaveBeenCalledTimes(2);
});

it('drops expired values, and the oldest ones if the total is too large', async () => {
  const kept = new TtlCache<string>(1_000, 100, (text) => text.length, 25);
  for (const key of ['a', 'b']) await kept.get(key, () => Promise.resolve('x'.repeat(10)));
  expect(kept.held).toEqual({ values: 2, bytes: 20 });
  await kept.get('c', () => Promise.resolve('x'.repeat(10)));
  expect(kept.held).toEqual({ values: 2, bytes: 20 });
  now += 500;
  await kept.get('d', () => Promise.resolve('x'));
  now += 600;
  await kept.get('e', () => Promise.resolve('x'));
  expect(kept.held).toEqual({ values: 2, bytes: 2 });
  // A value that exceeds the limit on its own is returned but not cached.
  expect(await kept.get('f', () => Promise.resolve('x'.repeat(100)))).toHaveLength(100);
  expect(kept.held.bytes).toBeLessThanOrEqual(25);
});

it('does not cache failures', async () => {
  const kept = new TtlCache<string>();
  await expect(kept.get('a', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(await kept.get('a', () => Promise.resolve('there'))).toBe('there');
});
