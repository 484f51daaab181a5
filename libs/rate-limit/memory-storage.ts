import { performance } from 'node:perf_hooks';
import { type StorageRecord, type Window, type WindowStorage } from './window-storage.js';

/** When a caller's requests were accepted, oldest first, in µs; those before `first` have left the window. */
type AcceptedTimes = { times: number[]; first: number };

/**
 * Counts in this process: an exact sliding window, never more than `limit` accepted requests in any `ttl`
 * milliseconds. Refused requests do not count. Works on a monotonic clock.
 *
 * Memory is bounded without a timer: two generations of callers, and the older one is dropped as a whole once
 * its youngest possible request has left the window, or when `maxCallers` different ones have come since. Only
 * such a flood makes the limiter forget somebody early.
 */
export class MemoryStorage implements WindowStorage {
  private recent = new Map<string, AcceptedTimes>();
  private older = new Map<string, AcceptedTimes>();
  private generationStart = 0;
  private longestWindow = 0;

  constructor(private readonly maxCallers = 100_000) {}

  /** How many callers are remembered, at most twice `maxCallers`; one seen in both generations counts twice. */
  get size(): number {
    return this.recent.size + this.older.size;
  }

  async increment(key: string, ttl: number, limit: number): Promise<StorageRecord> {
    return (await this.accept([{ key, limit }], ttl))[0]!;
  }

  accept(windows: readonly Window[], ttl: number): Promise<StorageRecord[]> {
    // Whole microseconds, as Redis has them: with fractions, now + ttl - now can come out above ttl.
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
        // Counted from the end: a limit that was lowered meanwhile frees a place only when several have left.
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
