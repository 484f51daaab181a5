import { setImmediate as immediate } from 'node:timers/promises';
import { BatchLoader } from './batch-loader.js';

/** Batches that the test answers itself. */
function asking(most = 100) {
  const asked: string[][] = [];
  const answer: ((error?: Error) => void)[] = [];
  const loader = new BatchLoader<string, { name: string }>(
    (keys) => {
      asked.push([...keys]);
      return new Promise((resolve, reject) =>
        answer.push((error) =>
          error
            ? reject(error)
            : resolve(new Map(keys.filter((key) => key !== 'unknown').map((name) => [name, { name }]))),
        ),
      );
    },
    (key) => key,
    most,
  );
  return { loader, asked, answer };
}

/** Waits a whole turn of the event loop. A timer may fire before the callbacks of setImmediate. */
const turn = async () => {
  await immediate();
  await immediate();
};

it('loads simultaneous requests in one batch, with each key once', async () => {
  const { loader, asked, answer } = asking();
  const loaded = ['a', 'b', 'a', 'unknown'].map((key) => loader.load(key));
  await turn();
  expect(asked).toEqual([['a', 'b', 'unknown']]);
  answer[0]!();
  const [a, b, again, unknown] = await Promise.all(loaded);
  expect([a, b, unknown]).toEqual([{ name: 'a' }, { name: 'b' }, undefined]);
  expect(again).toBe(a);
});

it('runs two batches at a time, and serves later requests from a later batch', async () => {
  const { loader, asked, answer } = asking();
  const first = loader.load('a');
  await turn();
  const second = loader.load('a');
  await turn();
  const later = [loader.load('a'), loader.load('b')];
  await turn();
  expect(asked).toEqual([['a'], ['a']]);
  answer[1]!();
  await second;
  await turn();
  expect(asked).toEqual([['a'], ['a'], ['a', 'b']]);
  answer[0]!();
  answer[2]!();
  expect(await Promise.all([first, ...later])).toEqual([{ name: 'a' }, { name: 'a' }, { name: 'b' }]);
});

it('rejects only the requests of a batch that fails', async () => {
  const { loader, answer } = asking();
  const told = expect(loader.load('a')).rejects.toThrow('away');
  await turn();
  const other = loader.load('b');
  await turn();
  answer[0]!(new Error('away'));
  answer[1]!();
  await told;
  expect(await other).toEqual({ name: 'b' });
});

it('limits the number of keys per batch', async () => {
  const { loader, asked, answer } = asking(2);
  const loaded = ['a', 'b', 'c', 'd', 'e'].map((key) => loader.load(key));
  await turn();
  expect(asked).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  answer[0]!();
  await turn();
  expect(asked.at(-1)).toEqual(['e']);
  answer[1]!();
  answer[2]!();
  expect(await Promise.all(loaded)).toHaveLength(5);
});
