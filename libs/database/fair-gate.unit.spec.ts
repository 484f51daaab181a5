import { setTimeout as sleep } from 'node:timers/promises';
import { FairGate, TooManyWaiting } from './fair-gate.js';

/** Work that runs until the test ends it. */
function works(gate: FairGate) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (name: string, longestWaitMs = 10_000) =>
    gate.run(name[0]!, longestWaitMs, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
  const end = async (name: string) => {
    ends.get(name)!();
    await sleep(0);
  };
  return { begun, run, end };
}

const limits = { atOnce: 3, ofOneGroup: 2, waiting: 2 };

it('limits a group to its share, and leaves the rest to others', async () => {
  const { begun, run, end } = works(new FairGate(limits));
  const all = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) => run(name));
  await sleep(0);
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await end('b1');
  expect(begun).toEqual(['a1', 'a2', 'b1', 'b2']);
  await end('a1');
  expect(begun.at(-1)).toBe('a3');
  for (const name of ['a2', 'a3', 'b2']) await end(name);
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'b2']);
});

it('gives waiting groups alternating turns', async () => {
  const { begun, run, end } = works(new FairGate({ atOnce: 1, ofOneGroup: 1, waiting: 9 }));
  const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => run(name));
  for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']) {
    await sleep(0);
    expect(begun.at(-1)).toBe(name);
    await end(name);
  }
  await Promise.all(all);
});

it('frees the place of work that fails', async () => {
  const gate = new FairGate({ atOnce: 1, ofOneGroup: 1, waiting: 1 });
  const failing = gate.run('a', 10_000, () => Promise.reject(new Error('no')));
  const next = gate.run('a', 10_000, () => Promise.resolve('next'));
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('next');
  expect(await gate.run('b', 10_000, () => Promise.resolve('last'))).toBe('last');
});

it('limits how much work of a group waits and for how long, and rejected work takes no place', async () => {
  const { begun, run, end } = works(new FairGate(limits));
  const running = [run('a1'), run('a2')];
  const impatient = run('a3', 20);
  const patient = run('a4');
  await expect(run('a5')).rejects.toBeInstanceOf(TooManyWaiting);
  await expect(impatient).rejects.toBeInstanceOf(TooManyWaiting);
  expect(begun).toEqual(['a1', 'a2']);
  for (const name of ['a1', 'a2']) await end(name);
  expect(begun).toEqual(['a1', 'a2', 'a4']);
  await end('a4');
  await Promise.all([...running, patient]);
  const again = [run('a6'), run('a7')];
  await sleep(0);
  expect(begun.slice(-2)).toEqual(['a6', 'a7']);
  for (const name of ['a6', 'a7']) await end(name);
  await Promise.all(again);
});
