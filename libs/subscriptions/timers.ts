import { type LoggerService } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { attempt, CLAIM_SECONDS, MOST_ATTEMPTS, pauseAfter } from '#libs/work';

/** Timers that are claimed at a time. */
const AT_ONCE = 10;

/** A record's timer that is due, or was while no instance ran. */
export type Due = { organizationId: string; id: string; dueAt: Date };

/** Work at a time that a record determines. */
export type Timer = {
  /** Stored in the database, so it never changes. */
  readonly name: string;
  /**
   * Runs once across all instances when it is due. It runs again if it fails, and a minute later if the instance dies
   * during it. It may set its timer again.
   */
  fire(due: Due, signal: AbortSignal): Promise<void>;
};

type Row = { organization_id: string; id: string; due_at: Date; attempts: number };

/** SQL of a row for metrics: timers that are due and have not fired (10,000 at most), and the seconds of the oldest. */
export const TIMER_BACKLOG = `
  SELECT count(*) AS "timersOverdue", coalesce(extract(epoch FROM clock_timestamp() - min(next_at)), 0) AS "timerSeconds"
  FROM (SELECT next_at FROM timers WHERE next_at <= clock_timestamp() ORDER BY next_at LIMIT 10000) AS due`;

/** Rows with a due time. */
export class Timers {
  constructor(
    private readonly source: DataSource,
    private readonly logger: Pick<LoggerService, 'warn' | 'error'>,
  ) {}

  /** Sets a record's timer, or changes its time. A time in the past is due immediately. */
  async set(timer: string, { organizationId, id, dueAt }: Due): Promise<void> {
    await this.source.query(
      `INSERT INTO timers (timer, organization_id, id, due_at, next_at) VALUES ($1, $2, $3, $4, $4)
       ON CONFLICT (timer, id) DO UPDATE
       SET due_at = excluded.due_at, next_at = excluded.next_at, attempts = 0, reason = NULL
       WHERE timers.due_at <> excluded.due_at`,
      [timer, organizationId, id, dueAt],
    );
  }

  /**
   * Sets a record's timer, unless it is set for a later time. One that is due counts as not set: its work may already have
   * looked at the record.
   */
  async begin(timer: string, { organizationId, id, dueAt }: Due): Promise<void> {
    await this.source.query(
      `INSERT INTO timers (timer, organization_id, id, due_at, next_at) VALUES ($1, $2, $3, $4, $4)
       ON CONFLICT (timer, id) DO UPDATE
       SET due_at = excluded.due_at, next_at = excluded.next_at, attempts = 0, reason = NULL
       WHERE timers.due_at <= clock_timestamp()`,
      [timer, organizationId, id, dueAt],
    );
  }

  async clear(timer: string, id: string): Promise<void> {
    await this.source.query('DELETE FROM timers WHERE timer = $1 AND id = $2', [timer, id]);
  }

  async areDue(): Promise<boolean> {
    const rows = await this.source.query<unknown[]>(
      'SELECT FROM timers WHERE next_at <= clock_timestamp() LIMIT 1',
    );
    return rows.length > 0;
  }

  /** @returns whether there may be more to do now. */
  async fire(timers: readonly Timer[]): Promise<boolean> {
    const worked = await Promise.all(timers.map((timer) => this.fireOne(timer)));
    return worked.includes(true);
  }

  private async fireOne(timer: Timer): Promise<boolean> {
    const [rows] = await this.source.query<[Row[], number]>(
      `UPDATE timers SET attempts = attempts + 1, next_at = clock_timestamp() + make_interval(secs => $3)
       WHERE timer = $1 AND id IN (
         SELECT id FROM timers WHERE timer = $1 AND next_at <= clock_timestamp()
         ORDER BY next_at LIMIT $2 FOR UPDATE SKIP LOCKED
       ) RETURNING organization_id, id, due_at, attempts`,
      [timer.name, AT_ONCE, CLAIM_SECONDS],
    );
    await Promise.all(rows.map((row) => this.fireRow(timer, row)));
    return rows.length === AT_ONCE;
  }

  /** A timer that was set again while it fired is due again. */
  private async fireRow(timer: Timer, row: Row): Promise<void> {
    const { organization_id: organizationId, id, due_at: dueAt, attempts } = row;
    const reason = await attempt((signal) => timer.fire({ organizationId, id, dueAt }, signal));
    if (reason === undefined) {
      await this.source.query('DELETE FROM timers WHERE timer = $1 AND id = $2 AND due_at = $3', [
        timer.name,
        id,
        dueAt,
      ]);
      return;
    }
    await this.source.query(
      `UPDATE timers SET reason = $4, next_at = clock_timestamp() + make_interval(secs => $5::float8)
       WHERE timer = $1 AND id = $2 AND due_at = $3`,
      [timer.name, id, dueAt, reason, pauseAfter(attempts)],
    );
    this.tell(timer.name, id, attempts, reason);
  }

  private tell(timer: string, id: string, attempts: number, reason: string): void {
    const isLast = attempts >= MOST_ATTEMPTS;
    const message = isLast
      ? 'a timer failed for the last time: it will not be retried'
      : 'a timer failed: it will be retried';
    this.logger[isLast ? 'error' : 'warn']({ message, timer, id, attempts, reason });
  }
}
