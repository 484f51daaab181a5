import { setImmediate as nextIteration } from 'node:timers/promises';

let last: Promise<void> = Promise.resolve();

/**
 * Resolves in a later iteration of the event loop, in which no other caller continues. Long computations wait for it after
 * each part of a few milliseconds. So a request waits for one part per iteration, however many computations there are.
 */
export function nextTurn(): Promise<void> {
  last = last.then(() => nextIteration());
  return last;
}
