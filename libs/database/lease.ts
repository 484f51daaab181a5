import { type DataSource } from 'typeorm';
import { isUnavailable } from './incidents.js';

/**
 * How long the holder of a lease may leave PostgreSQL waiting, for its next statement or with its answer. Longest seen
 * with pages that take a second, on two processors at a load of 19: 0.8 s. What PostgreSQL itself takes (a slow disk, a
 * page that is computed) does not count, however long.
 */
const PATIENCE_MS = 2_500;
/** Who is slower than that has twice as much the next time, and so has whoever ended somebody, up to so many times. */
const MOST_PATIENCE = 4;
/** Looks of whoever waits for a lease at its holder, while its patience lasts. */
const LOOKS = 5;

/** Holders of rows of the table that others wait for while PostgreSQL waits for them. */
const HOLDERS = `
  SELECT a.pid, a.state_change::text AS changed, a.wait_event
  FROM pg_stat_activity a
  WHERE a.datname = current_database() AND a.wait_event_type = 'Client'
    AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.relation = $1::regclass
                  AND l.mode IN ('RowShareLock', 'RowExclusiveLock'))
    AND EXISTS (SELECT FROM pg_stat_activity w WHERE w.datname = current_database()
                  AND w.wait_event_type = 'Lock' AND a.pid = ANY (pg_blocking_pids(w.pid)))`;

/** Not one that has gone on since it was looked at. PostgreSQL lets a role end its own connections. */
const END = `
  SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
  WHERE a.pid = $1 AND a.state_change::text = $2 AND a.wait_event_type = 'Client'`;

type Holder = { pid: number; changed: string; wait_event: string };

/**
 * A lease is a row's lock: whoever holds it works, and who dies loses it with the connection. Who only stops
 * (a frozen process or machine) keeps the connection, and would keep everybody waiting: so the holder's transaction is
 * ended, by PostgreSQL where it waits for the next statement, and by whoever waits for the lease also where the holder
 * stopped in the middle of sending or reading one, which PostgreSQL does not bound.
 *
 * What the holder did in it is undone; when it wakes up it finds its connection gone and begins anew. One that is
 * merely slow is given more time after each such end, and should take less work, so that somebody comes forward.
 */
export class Lease {
  /** How long the transaction that takes the lease may be idle. */
  timeoutMs: number;

  /**
   * @param table whose rows' locks are the leases.
   * @param source with a connection free while work waits: its own pool's may all be waiting.
   * @param shortestMs less in tests.
   */
  constructor(
    private readonly table: string,
    private readonly source: DataSource,
    private readonly shortestMs = PATIENCE_MS,
  ) {
    this.timeoutMs = shortestMs;
  }

  /** Runs a transaction that waits for the lease and then holds it. */
  async run<Result>(transaction: () => Promise<Result>): Promise<Result> {
    const seen = new Map<string, number>();
    const watch = setInterval(() => void this.look(seen).catch(() => undefined), this.shortestMs / LOOKS);
    try {
      const result = await transaction();
      this.timeoutMs = this.shortestMs;
      return result;
    } catch (error) {
      if (isUnavailable(error)) this.extendDeadline();
      throw error;
    } finally {
      clearInterval(watch);
    }
  }

  /** Ends holders that have been seen in the same place for too long. */
  private async look(seen: Map<string, number>): Promise<void> {
    const holders = await this.source.query<Holder[]>(HOLDERS, [this.table]);
    const now = performance.now();
    const before = new Map(seen);
    seen.clear();
    for (const { pid, changed, wait_event } of holders) {
      const place = `${pid} ${changed} ${wait_event}`;
      const since = before.get(place) ?? now;
      seen.set(place, since);
      if (now - since < this.timeoutMs) continue;
      await this.source.query(END, [pid, changed]);
      this.extendDeadline();
    }
  }

  private extendDeadline(): void {
    this.timeoutMs = Math.min(2 * this.timeoutMs, MOST_PATIENCE * this.shortestMs);
  }
}
