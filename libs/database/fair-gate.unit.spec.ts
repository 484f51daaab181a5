import { setTimeout as sleep } from 'node:timers/promises';
import { FairGate, TooManyWaiting } from './fair-gate.js';

/** Work that runs until it is told to end, and says when it began. */
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

it('of one group only its part runs, and others have the rest', async () => {
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

it('groups that wait have their turns one after another', async () => {
  const { begun, run, end } = works(new FairGate({ atOnce: 1, ofOneGroup: 1, waiting: 9 }));
  const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => run(name));
  for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']) {
    await sleep(0);
    expect(begun.at(-1)).toBe(name);
    await end(name);
  }
  await Promise.all(all);
});

it('work that fails makes room too', async () => {
  const gate = new FairGate({ atOnce: 1, ofOneGroup: 1, waiting: 1 });
  const failing = gate.run('a', 10_000, () => Promise.reject(new Error('no')));
  const next = gate.run('a', 10_000, () => Promise.resolve('next'));
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('next');
  expect(await gate.run('b', 10_000, () => Promise.resolve('last'))).toBe('last');
});

it('of one group only so much waits, and not for ever; what was refused takes no room', async () => {
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
