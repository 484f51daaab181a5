import { setImmediate as immediate } from 'node:timers/promises';
import { BatchLoader } from './batch-loader.js';

/** Questions that are answered when they are told to be. */
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

/** A whole turn of the event loop: a timer may be due before what was put off to the end of this one. */
const turn = async () => {
  await immediate();
  await immediate();
};

it('asks once for all who come at the same moment, and for the same only once', async () => {
  const { loader, asked, answer } = asking();
  const loaded = ['a', 'b', 'a', 'unknown'].map((key) => loader.load(key));
  await turn();
  expect(asked).toEqual([['a', 'b', 'unknown']]);
  answer[0]!();
  const [a, b, again, unknown] = await Promise.all(loaded);
  expect([a, b, unknown]).toEqual([{ name: 'a' }, { name: 'b' }, undefined]);
  expect(again).toBe(a);
});

it('has two questions under way; who comes meanwhile is answered by one that began later', async () => {
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

it('a question that fails fails for who was in it, and for nobody else', async () => {
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

it('one question holds no more than it may', async () => {
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
