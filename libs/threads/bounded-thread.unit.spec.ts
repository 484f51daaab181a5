import { pathToFileURL } from 'node:url';
import { BoundedThread, JobStopped } from './index.js';

type Jobs = {
  double: (value: number) => number;
  fail: () => never;
  spin: () => never;
  fill: () => never;
  countOf: () => number;
};

const LIMITS = { double: 250, fail: 250, spin: 250, fill: 250, countOf: 250 };
const library = pathToFileURL(`${process.cwd()}/dist/libs/threads/index.js`).href;
const source = `
  import { serveJobs } from '${library}';
  let count = 0;
  serveJobs({
    double: (value) => value * 2,
    fail: () => { throw new TypeError('no such thing'); },
    spin: () => { for (;;); },
    fill: () => { const all = []; for (;;) all.push(new Array(1000).fill(all.length)); },
    countOf: () => ++count,
  });`;
const start = () =>
  new BoundedThread<Jobs>(new URL(`data:text/javascript,${encodeURIComponent(source)}`), LIMITS);

it('runs jobs and returns their results in any order of calls', async () => {
  const thread = start();
  const all = await Promise.all(Array.from({ length: 1_000 }, (_, n) => thread.run('double', n)));
  expect(all).toEqual(Array.from({ length: 1_000 }, (_, n) => n * 2));
});

it('rejects with the error that a job throws', async () => {
  await expect(start().run('fail')).rejects.toThrow('no such thing');
});

it('stops a job that takes too long, and runs all others in a new thread', async () => {
  const thread = start();
  const jobs = [
    thread.run('countOf'),
    thread.run('spin'),
    thread.run('double', 4),
    thread.run('spin'),
  ] as const;
  const [first, ...others] = await Promise.allSettled(jobs);
  expect(first).toEqual({ status: 'fulfilled', value: 1 });
  expect(others).toEqual([
    { status: 'rejected', reason: expect.any(JobStopped) },
    { status: 'fulfilled', value: 8 },
    { status: 'rejected', reason: expect.any(JobStopped) },
  ]);
  expect(await thread.run('double', 5)).toBe(10);
});

it('stops a job that fills the memory', async () => {
  const thread = new BoundedThread<Jobs>(
    new URL(`data:text/javascript,${encodeURIComponent(source)}`),
    { ...LIMITS, fill: 60_000 },
    32,
  );
  const jobs = [thread.run('fill'), thread.run('double', 1)];
  expect(await Promise.allSettled(jobs)).toEqual([
    { status: 'rejected', reason: expect.any(JobStopped) },
    { status: 'fulfilled', value: 2 },
  ]);
});

it('counts neither the start of the thread nor the time in the queue', async () => {
  const slow = `await new Promise((resolve) => setTimeout(resolve, 500)); ${source.replace('import {', 'const {').replace("} from '", "} = await import('").replace("index.js';", "index.js');")}`;
  const thread = new BoundedThread<Jobs>(new URL(`data:text/javascript,${encodeURIComponent(slow)}`), LIMITS);
  expect(await thread.run('double', 3)).toBe(6);
});

it('ends an idle thread, and starts another when a job comes', async () => {
  const thread = start();
  expect(await thread.run('countOf')).toBe(1);
  expect(await thread.run('countOf')).toBe(2);
  await thread.end();
  expect(await thread.run('countOf')).toBe(1);
});

it('rejects all jobs when the thread cannot start', async () => {
  const thread = new BoundedThread<Jobs>(new URL('data:text/javascript,throw new Error("broken")'), LIMITS);
  const outcomes = await Promise.allSettled([thread.run('double', 1), thread.run('double', 2)]);
  expect(outcomes.map((one) => one.status === 'rejected' && String(one.reason))).toEqual([
    'Error: broken',
    'Error: broken',
  ]);
});
