import { performance } from 'node:perf_hooks';
import { type StorageRecord, type Window, type WindowStorage } from './window-storage.js';

/** The times of a caller's accepted requests, oldest first, in µs. Those before index `first` have left the window. */
type AcceptedTimes = { times: number[]; first: number };

/**
 * Counts in this process with an exact sliding window: never more than `limit` accepted requests in any `ttl`
 * milliseconds. Rejected requests do not count. Uses a monotonic clock.
 *
 * Memory is bounded without a timer. There are two generations of callers. The older one is dropped once its newest
 * request must have left the window, or when `maxCallers` different callers have arrived since. Only such a flood makes
 * the limiter forget callers early.
 */
export class MemoryStorage implements WindowStorage {
  private recent = new Map<string, AcceptedTimes>();
  private older = new Map<string, AcceptedTimes>();
  private generationStart = 0;
  private longestWindow = 0;

  constructor(private readonly maxCallers = 100_000) {}

  /** The number of remembered callers, at most twice `maxCallers`. A caller in both generations counts twice. */
  get size(): number {
    return this.recent.size + this.older.size;
  }

  async increment(key: string, ttl: number, limit: number): Promise<StorageRecord> {
    return (await this.accept([{ key, limit }], ttl))[0]!;
  }

  accept(windows: readonly Window[], ttl: number): Promise<StorageRecord[]> {
    // Whole microseconds, like Redis. With fractions, now + ttl - now could exceed ttl.
    const now = Math.floor(performance.now() * 1_000);
    const window = ttl * 1_000;
    this.forgetOldCallers(now, window);
    const counted = windows.map(({ key, limit }) => {
      const accepted = this.acceptedTimesOf(key);
      const { times } = accepted;
      while ((times[accepted.first] ?? Infinity) <= now - window) accepted.first++;
      if (accepted.first * 2 > times.length) {
        times.splice(0, accepted.first);
        accepted.first = 0;
      }
      const before = times.length - accepted.first;
      return { accepted, limit, before, isBlocked: before >= limit };
    });

    if (!counted.some(({ isBlocked }) => isBlocked))
      for (const { accepted } of counted) accepted.times.push(now);
    return Promise.resolve(
      counted.map(({ accepted: { times, first }, limit, before, isBlocked }) => {
        // Counted from the end. If the limit was lowered since, several requests must leave before a place is free.
        const leaves = (index: number) => Math.ceil(((times[index] ?? now) + window - now) / 1_000_000);
        return {
          totalHits: before + 1,
          timeToExpire: leaves(first),
          isBlocked,
          timeToBlockExpire: isBlocked ? leaves(times.length - limit) : 0,
        };
      }),
    );
  }

  private acceptedTimesOf(key: string): AcceptedTimes {
    let accepted = this.recent.get(key);
    if (!accepted) {
      accepted = this.older.get(key) ?? { times: [], first: 0 };
      this.recent.set(key, accepted);
    }
    return accepted;
  }

  private forgetOldCallers(now: number, window: number): void {
    this.longestWindow = Math.max(this.longestWindow, window);
    if (now - this.generationStart < this.longestWindow && this.recent.size < this.maxCallers) return;
    this.older = this.recent;
    this.recent = new Map();
    this.generationStart = now;
  }
}
