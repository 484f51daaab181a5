import { type DataSource } from 'typeorm';
import { isUnavailable } from './incidents.js';

/**
 * How long a lease owner may keep PostgreSQL waiting for its next statement or for reading a result. The longest wait
 * measured was 0.8 s, with pages that take a second, on two cores at a load of 19. Time that PostgreSQL itself
 * needs does not count.
 */
const TIMEOUT_MS = 2_500;
/** The timeout doubles after each loss of a lease, for the slow owner and for the one that ended it, up to this factor. */
const MAX_TIMEOUT_FACTOR = 4;
/** How often a waiting process checks the lease owner during a timeout. */
const CHECKS = 5;

/** Lease owners that PostgreSQL is waiting for, while others wait for their rows. */
const HOLDERS = `
  SELECT a.pid, a.state_change::text AS changed, a.wait_event
  FROM pg_stat_activity a
  WHERE a.datname = current_database() AND a.wait_event_type = 'Client'
    AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.relation = $1::regclass
                  AND l.mode IN ('RowShareLock', 'RowExclusiveLock'))
    AND EXISTS (SELECT FROM pg_stat_activity w WHERE w.datname = current_database()
                  AND w.wait_event_type = 'Lock' AND a.pid = ANY (pg_blocking_pids(w.pid)))`;

/** Ends a connection unless it has progressed since the check. PostgreSQL allows a role to end its own connections. */
const END = `
  SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
  WHERE a.pid = $1 AND a.state_change::text = $2 AND a.wait_event_type = 'Client'`;

type Holder = { pid: number; changed: string; wait_event: string };

/**
 * A lease is a row lock. Its owner works, and loses the lease with its connection if it crashes. A frozen
 * process or machine keeps its connection and would block everyone. So its transaction is ended. PostgreSQL
 * ends it if it is idle. A waiting process ends it if the owner froze while sending a statement or reading a
 * result, which PostgreSQL does not limit.
 *
 * The owner's transaction is rolled back. When the owner wakes up, its connection is closed and it starts
 * again. An owner that is only slow gets more time after each loss and should take less work, so that work
 * progresses.
 */
export class Lease {
  /** How long the transaction that takes the lease may be idle, in milliseconds. */
  timeoutMs: number;

  /**
   * @param table whose row locks are the leases.
   * @param source must have a free connection while work waits. All connections of the workers' own pool may be waiting.
   * @param shortestMs the initial timeout; shorter in tests.
   */
  constructor(
    private readonly table: string,
    private readonly source: DataSource,
    private readonly shortestMs = TIMEOUT_MS,
  ) {
    this.timeoutMs = shortestMs;
  }

  /** Runs a transaction that waits for the lease and then holds it. */
  async run<Result>(transaction: () => Promise<Result>): Promise<Result> {
    const seen = new Map<string, number>();
    const watch = setInterval(() => void this.check(seen).catch(() => undefined), this.shortestMs / CHECKS);
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

  /** Ends owners that have made no progress for too long. */
  private async check(seen: Map<string, number>): Promise<void> {
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
    this.timeoutMs = Math.min(2 * this.timeoutMs, MAX_TIMEOUT_FACTOR * this.shortestMs);
  }
}
