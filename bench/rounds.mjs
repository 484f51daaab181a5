import { performance } from 'node:perf_hooks';

/** Ctrl-C ends the round under way; then the database is dropped as at every other end. */
export const interruption = new AbortController();
process.once('SIGINT', () => interruption.abort());
process.once('SIGTERM', () => interruption.abort());

/**
 * Lets so many callers call `operation` one after another, for so many seconds after a warm-up.
 *
 * @param contender `operation` does the work once; `counts` says how many appends that is (1).
 * @returns appends per second, and what half and 99 % of the calls took at most, in milliseconds.
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

/**
 * Rounds in turn (a, b, c, a, b, c, …), so that whatever else the machine does meets all alike.
 *
 * @returns per contender the medians of its rounds, and `ratio`: the median, over the rounds, of the first
 *   contender's rate divided by its own.
 */
export async function compare(contenders, rounds, settings) {
  const results = contenders.map(() => []);
  for (let n = 0; n < rounds; n += 1) {
    for (const [index, contender] of contenders.entries()) {
      results[index].push(
        await round(contender, { ...settings, callers: contender.callers ?? settings.callers }),
      );
    }
  }
  return results.map((own) => ({
    rate: median(own.map(({ rate }) => rate)),
    p50: median(own.map(({ p50 }) => p50)),
    p99: median(own.map(({ p99 }) => p99)),
    ratio: median(own.map(({ rate }, n) => results[0][n].rate / rate)),
  }));
}

function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
