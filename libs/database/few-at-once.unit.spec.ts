import { setImmediate as turn } from 'node:timers/promises';
import { fewAtOnce } from './few-at-once.js';

const items = Array.from({ length: 20 }, (_, n) => n);

it('runs three items at a time, and returns the results in order', async () => {
  let [underWay, most] = [0, 0];
  const doubled = await fewAtOnce(items, async (n) => {
    most = Math.max(most, (underWay += 1));
    for (let turns = 0; turns < (n * 7) % 5; turns += 1) await turn();
    underWay -= 1;
    return 2 * n;
  });
  expect(doubled).toEqual(items.map((n) => 2 * n));
  expect(most).toBe(3);
  expect(await fewAtOnce([], () => Promise.resolve(1))).toEqual([]);
});

it('starts no more items after a failure', async () => {
  const begun: number[] = [];
  const work = async (n: number) => {
    begun.push(n);
    await turn();
    if (n === 4) throw new Error('four');
  };
  await expect(fewAtOnce(items, work)).rejects.toThrow('four');
  for (let turns = 0; turns < 20; turns += 1) await turn();
  expect(begun.length).toBeLessThan(8);
});
