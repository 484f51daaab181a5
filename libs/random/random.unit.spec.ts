import { version } from 'uuid';
import { newId, randomBytes } from './random.js';

it('ids are UUIDv7 with the current time, and each is greater than the previous one', () => {
  const before = Date.now();
  const ids = Array.from({ length: 20_000 }, newId);
  expect(ids.every((id) => version(id) === 7)).toBe(true);
  expect(ids).toEqual([...new Set(ids)].sort());
  const madeAt = Number.parseInt(ids[0]!.replaceAll('-', '').slice(0, 12), 16);
  expect(madeAt).toBeGreaterThanOrEqual(before);
  expect(madeAt).toBeLessThanOrEqual(Date.now());
});

it('returns new bytes each time, even for more than one batch, and never changes returned ones', () => {
  const drawn = Array.from({ length: 2_000 }, () => randomBytes(12));
  const copies = drawn.map((bytes) => bytes.toString('hex'));
  expect(new Set(copies).size).toBe(2_000);
  for (let n = 0; n < 2_000; n += 1) randomBytes(12);
  expect(drawn.map((bytes) => bytes.toString('hex'))).toEqual(copies);
  expect(randomBytes(4_096)).toHaveLength(4_096);
});
