import { version } from 'uuid';
import { newId, randomBytes } from './random.js';

it('ids are UUIDv7 of now, and each is above the one before', () => {
  const before = Date.now();
  const ids = Array.from({ length: 20_000 }, newId);
  expect(ids.every((id) => version(id) === 7)).toBe(true);
  expect(ids).toEqual([...new Set(ids)].sort());
  const madeAt = Number.parseInt(ids[0]!.replaceAll('-', '').slice(0, 12), 16);
  expect(madeAt).toBeGreaterThanOrEqual(before);
  expect(madeAt).toBeLessThanOrEqual(Date.now());
});

it('bytes are not those of before, also beyond what is drawn at once, and stay what they are', () => {
  const drawn = Array.from({ length: 2_000 }, () => randomBytes(12));
  const copies = drawn.map((bytes) => bytes.toString('hex'));
  expect(new Set(copies).size).toBe(2_000);
  for (let n = 0; n < 2_000; n += 1) randomBytes(12);
  expect(drawn.map((bytes) => bytes.toString('hex'))).toEqual(copies);
  expect(randomBytes(4_096)).toHaveLength(4_096);
});
