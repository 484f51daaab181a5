import { type ThrottlerStorage } from '@nestjs/throttler';

export type StorageRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** A caller and the maximum number of accepted requests. */
export type Window = {
  key: string;
  limit: number;
  /**
   * Windows that are used together must share a group. Default: the key. A Redis Cluster stores a group on one node, because
   * a script cannot access others.
   */
  group?: string;
};

/** Counts accepted requests in exact sliding windows. Rejected requests do not count. */
export interface WindowStorage extends ThrottlerStorage {
  /**
   * Counts a request in several windows if all of them accept it, and in none otherwise. Their keys must differ.
   *
   * @param ttl the length of the windows in whole milliseconds.
   * @returns for each window: `totalHits`, its accepted requests including this one; `isBlocked`, whether it rejects this
   *   request; `timeToExpire`, the seconds until its oldest request leaves it; `timeToBlockExpire`, the seconds until it
   *   would accept a request, or 0 if it accepts this one. Seconds are rounded up.
   */
  accept(windows: readonly Window[], ttl: number): Promise<StorageRecord[]>;
}
