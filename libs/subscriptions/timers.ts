import { type LoggerService } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { describeError, inTransaction, isTransient, isUnavailable, type Sql } from '#libs/database';
import { attempt, LONGEST_ATTEMPT_MS, MOST_ATTEMPTS, pauseAfter } from './attempts.js';

/** Timers that one transaction fires. */
const AT_ONCE = 10;
const LIMITS = { statement: 60_000, idle: 2 * LONGEST_ATTEMPT_MS };

/** What is due, or was while no instance ran. */
export type Due = { organizationId: string; id: string; dueAt: Date };

/** What happens at a time that a record names. */
export type Timer = {
  /** In the database: it never changes. */
  readonly name: string;
  /** Runs once among all instances when it is due; again where it fails, or the instance dies in the middle of it. */
  fire(due: Due, signal: AbortSignal): Promise<void>;
};

type Row = { organization_id: string; id: string; due_at: Date; attempts: number };

/** Rows with a time at which something is due. */
export class Timers {
  constructor(
    private readonly source: DataSource,
    private readonly logger: Pick<LoggerService, 'warn' | 'error'>,
  ) {}

  /** Sets a record's timer, or sets it anew. The past is due at once. */
  async set(timer: string, { organizationId, id, dueAt }: Due, sql: Sql = this.source): Promise<void> {
    await sql.query(
      `INSERT INTO timers (timer, organization_id, id, due_at, next_at) VALUES ($1, $2, $3, $4, $4)
       ON CONFLICT (timer, id) DO UPDATE
       SET due_at = excluded.due_at, next_at = excluded.next_at, attempts = 0, reason = NULL
       WHERE timers.due_at <> excluded.due_at`,
      [timer, organizationId, id, dueAt],
    );
  }

  async clear(timer: string, id: string, sql: Sql = this.source): Promise<void> {
    await sql.query('DELETE FROM timers WHERE timer = $1 AND id = $2', [timer, id]);
  }

  async areDue(): Promise<boolean> {
    const rows = await this.source.query<unknown[]>(
      'SELECT FROM timers WHERE next_at <= clock_timestamp() LIMIT 1',
    );
    return rows.length > 0;
  }

  /** @returns whether there may be more to do at once. */
  async fire(timers: readonly Timer[]): Promise<boolean> {
    const worked = await Promise.all(timers.map((timer) => this.fireOne(timer)));
    return worked.includes(true);
  }

  private fireOne(timer: Timer): Promise<boolean> {
    return inTransaction(this.source, LIMITS, async (transaction) => {
      const rows = await transaction.query<Row[]>(
        `SELECT organization_id, id, due_at, attempts FROM timers WHERE timer = $1 AND next_at <= clock_timestamp()
         ORDER BY next_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
        [timer.name, AT_ONCE],
      );
      await Promise.all(
        rows.map(async ({ organization_id: organizationId, id, due_at: dueAt, attempts }) => {
          const error = await attempt((signal) => timer.fire({ organizationId, id, dueAt }, signal));
          if (error === undefined) return this.clear(timer.name, id, transaction);
          if (isUnavailable(error) || isTransient(error)) throw error as Error;
          const reason = describeError(error);
          await transaction.query(
            `UPDATE timers SET attempts = $3, reason = $4, next_at = clock_timestamp() + make_interval(secs => $5::float8)
             WHERE timer = $1 AND id = $2`,
            [timer.name, id, attempts + 1, reason, pauseAfter(attempts + 1)],
          );
          this.tell(timer.name, id, attempts + 1, reason);
        }),
      );
      return rows.length === AT_ONCE;
    });
  }

  private tell(timer: string, id: string, attempts: number, reason: string): void {
    const isLast = attempts >= MOST_ATTEMPTS;
    const message = isLast
      ? 'what was due failed for the last time, and is not tried again'
      : 'what was due failed: it is tried again';
    this.logger[isLast ? 'error' : 'warn']({ message, timer, id, attempts, reason });
  }
}
