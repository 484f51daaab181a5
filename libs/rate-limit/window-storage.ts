import { type ThrottlerStorage } from '@nestjs/throttler';

export type StorageRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** Whose requests are counted, and how many are accepted in a window. */
export type Window = {
  key: string;
  limit: number;
  /**
   * Windows that are ever asked together have one group; without one, the key is its own. A Redis Cluster keeps a
   * group in one place, because a script reaches no other.
   */
  group?: string;
};

/** Counts accepted requests in exact sliding windows. Refused requests do not count. */
export interface WindowStorage extends ThrottlerStorage {
  /**
   * One request that several windows must all accept, else it counts in none of them. The keys differ.
   *
   * @param ttl the windows' length in whole milliseconds
   * @returns for each window `totalHits`: accepted requests in it, plus this one; `isBlocked`: it has no place for
   * this one; `timeToExpire`: seconds, rounded up, until the oldest leaves it; `timeToBlockExpire`: seconds,
   * rounded up, until it would accept a request, 0 when it accepts this one.
   */
  accept(windows: readonly Window[], ttl: number): Promise<StorageRecord[]>;
}
