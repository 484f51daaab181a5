import { performance } from 'node:perf_hooks';

/** Ctrl-C aborts the current round. The database is then dropped as usual. */
export const interruption = new AbortController();
process.once('SIGINT', () => interruption.abort());
process.once('SIGTERM', () => interruption.abort());

/**
 * Runs concurrent callers for `seconds` after a warm-up. Each repeats `operation`.
 *
 * @param contender `operation` does the work once. `counts` is the number of appends per call; default: 1.
 * @returns appends per second, and the p50 and p99 of the calls in milliseconds
 */
export async function round({ operation, counts = 1 }, { callers, seconds, warmUpSeconds }) {
  const begin = performance.now() + warmUpSeconds * 1000;
  const end = begin + seconds * 1000;
  const times = [];
  async function call() {
    while (!interruption.signal.aborted) {
      const start = performance.now();
      if (start >= end) return;
      await operation();
      const now = performance.now();
      if (now >= begin && now < end) times.push(now - start);
    }
  }
  await Promise.all(Array.from({ length: callers }, call));
  interruption.signal.throwIfAborted();
  times.sort((a, b) => a - b);
  const percentile = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? NaN;
  return { rate: (times.length * counts) / seconds, p50: percentile(0.5), p99: percentile(0.99) };
}
