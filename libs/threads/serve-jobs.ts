import { parentPort, workerData } from 'node:worker_threads';

/** A thread's jobs, by name. Arguments and results are copied (structured clone). */
export type Jobs = Record<string, (...given: never[]) => unknown>;

export type Job = { number: number; name: string; given: unknown[] };
export type Answer = { number: number; value?: unknown; error?: unknown };

/** Results are collected for this long, because a message costs more than a short job. */
const GATHER_MS = 10;

/** Runs the jobs of a `BoundedThread`: call it once, in the thread's own file. */
export function serveJobs(jobs: Jobs): void {
  const running = workerData as Int32Array;
  parentPort!.on('message', (given: Job[]) => {
    let answers: Answer[] = [];
    let sentAt = performance.now();
    for (const job of given) {
      Atomics.store(running, 0, job.number);
      answers.push(run(jobs, job));
      if (performance.now() - sentAt < GATHER_MS) continue;
      parentPort!.postMessage(answers);
      [answers, sentAt] = [[], performance.now()];
    }
    Atomics.store(running, 0, 0);
    if (answers.length > 0) parentPort!.postMessage(answers);
  });
}

function run(jobs: Jobs, { number, name, given }: Job): Answer {
  try {
    return { number, value: jobs[name]!(...(given as never[])) };
  } catch (error) {
    return { number, error: error ?? new Error(`The job ${name} failed.`) };
  }
}
