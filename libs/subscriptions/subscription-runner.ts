import { type LoggerService } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { describeError, inTransaction, isTransient, isUnavailable, type Transaction } from '#libs/database';
import { type EventStore, type RecordedEvent } from '#libs/event-store';
import { attempt, LONGEST_ATTEMPT_MS, MOST_ATTEMPTS, pauseAfter } from './attempts.js';
import { type Subscription } from './subscription.js';

/** Events of one page, and of these so many at once. */
const PAGE = 500;
const AT_ONCE = 8;
/** After so long no further event of a page is begun: the lease is free again after the last attempt at the latest. */
const LONG_PAGE_MS = 5_000;
/** While events are handled the transaction that holds the lease is idle. */
const LIMITS = { statement: 60_000, idle: LONG_PAGE_MS + 2 * LONGEST_ATTEMPT_MS };
/** Retries that one transaction takes on. */
const RETRIES = 20;

type Retry = { position: string; attempts: number };
type Failure = { event: RecordedEvent; reason: string };

/**
 * Advances one subscription. The cursor's row is the lease: whoever holds its lock works, on any instance, and a
 * crashed worker's lock is gone with its connection. What fails, and what waits for that, goes into the retry table in the
 * transaction that moves the cursor: so each event is either handled or stands there.
 */
export class SubscriptionRunner {
  constructor(
    readonly subscription: Subscription,
    private readonly source: DataSource,
    private readonly store: EventStore,
    private readonly logger: Pick<LoggerService, 'warn' | 'error'>,
    private readonly isStopping: () => boolean,
  ) {}

  async prepare(): Promise<void> {
    const { name, begins } = this.subscription;
    await this.source.query(
      `INSERT INTO subscriptions (name, position) VALUES ($1, CASE WHEN $2 THEN event_horizon() ELSE 0 END)
       ON CONFLICT DO NOTHING`,
      [name, begins === 'now'],
    );
  }

  /** @returns whether there may be more to do at once; false also where somebody else is at it. */
  async work(): Promise<boolean> {
    // One after the other: each keeps a connection, and what is handled needs others of the same pool.
    const retried = await this.retry();
    return (await this.advance()) || retried;
  }

  private advance(): Promise<boolean> {
    const { name, handles } = this.subscription;
    return inTransaction(this.source, LIMITS, async (transaction) => {
      const [cursor] = await transaction.query<{ position: string }[]>(
        'SELECT position FROM subscriptions WHERE name = $1 FOR UPDATE SKIP LOCKED',
        [name],
      );
      if (!cursor) return false;
      const before = Number(cursor.position);
      // Not in this transaction: it would keep its locks on the log while events are handled, and who wants to lock the log
      // would wait for it, a command for them, and this for the command.
      const horizon = await this.store.horizon();
      if (horizon <= before) return false;
      const end = await this.store.pageEnd(before, horizon, PAGE, handles);
      const page = await this.store.readAll(before, end, PAGE, handles);
      const chosen = this.subscription.choose?.(page) ?? page;

      const blocked = await this.streamsThatWait(transaction, chosen);
      const { failures, behind, next } = await this.handleInOrder(chosen, blocked);
      await this.putOff(transaction, failures, behind);
      // What was not begun comes with the next page.
      const reached = next ? next.position - 1 : end;
      await transaction.query('UPDATE subscriptions SET position = $2 WHERE name = $1', [name, reached]);
      return reached < horizon;
    });
  }

  /** Of these streams those with an event that is still to be tried again. */
  private async streamsThatWait(
    transaction: Transaction,
    events: readonly RecordedEvent[],
  ): Promise<Set<string>> {
    if (events.length === 0) return new Set();
    const rows = await transaction.query<{ stream_id: string }[]>(
      `SELECT DISTINCT stream_id FROM subscription_retries
       WHERE subscription = $1 AND stream_id = ANY ($2::uuid[]) AND due_at IS NOT NULL`,
      [this.subscription.name, events.map(({ streamId }) => streamId)],
    );
    return new Set(rows.map(({ stream_id }) => stream_id));
  }

  /**
   * Several at once, those of one stream one after the other.
   *
   * @returns `behind`: events of streams that wait. `next`: the first that was not begun, because time was over.
   */
  private async handleInOrder(
    events: readonly RecordedEvent[],
    blocked: Set<string>,
  ): Promise<{ failures: Failure[]; behind: RecordedEvent[]; next: RecordedEvent | undefined }> {
    const endAt = performance.now() + LONG_PAGE_MS;
    const failures: Failure[] = [];
    const behind: RecordedEvent[] = [];
    const lastOf = new Map<string, Promise<void>>();
    const underWay = new Set<Promise<void>>();
    let unavailable: unknown;
    let next: RecordedEvent | undefined;
    for (const event of events) {
      if (underWay.size >= AT_ONCE) await Promise.race(underWay);
      if (unavailable !== undefined || this.isStopping() || performance.now() > endAt) {
        next = event;
        break;
      }
      const handled = (lastOf.get(event.streamId) ?? Promise.resolve()).then(async () => {
        if (blocked.has(event.streamId)) {
          behind.push(event);
          return;
        }
        const error = await attempt((signal) => this.subscription.handle(event, signal));
        if (error === undefined) return;
        // It says nothing against the event that the database was away.
        if (isUnavailable(error) || isTransient(error)) unavailable ??= error;
        else failures.push({ event, reason: describeError(error) });
        blocked.add(event.streamId);
      });
      lastOf.set(event.streamId, handled);
      underWay.add(handled);
      void handled.finally(() => underWay.delete(handled));
    }
    await Promise.all(underWay);
    if (unavailable !== undefined) throw unavailable as Error;
    return { failures, behind, next };
  }

  private async putOff(
    transaction: Transaction,
    failures: readonly Failure[],
    behind: readonly RecordedEvent[],
  ): Promise<void> {
    const rows = [
      ...failures.map(({ event, reason }) => ({ event, attempts: 1, pause: pauseAfter(1), reason })),
      ...behind.map((event) => ({ event, attempts: 0, pause: 0, reason: null })),
    ];
    if (rows.length === 0) return;
    await transaction.query(
      `INSERT INTO subscription_retries (subscription, position, organization_id, stream_id, attempts, due_at, reason)
       SELECT $1, position, organization_id, stream_id, attempts, clock_timestamp() + make_interval(secs => pause), reason
       FROM jsonb_to_recordset($2::jsonb) AS r(position bigint, organization_id uuid, stream_id uuid, attempts int,
                                               pause float8, reason text)
       ON CONFLICT DO NOTHING`,
      [
        this.subscription.name,
        JSON.stringify(
          rows.map(({ event, ...rest }) => ({
            position: event.position,
            organization_id: event.organizationId,
            stream_id: event.streamId,
            ...rest,
          })),
        ),
      ],
    );
    for (const { event, reason } of failures) this.tell(event.position, event.type, 1, reason);
  }

  /** Tries again what is due. Others' rows are theirs: they stay locked until each is handled or put off again. */
  private retry(): Promise<boolean> {
    const { name } = this.subscription;
    return inTransaction(this.source, LIMITS, async (transaction) => {
      const due = await transaction.query<Retry[]>(
        `SELECT r.position, r.attempts FROM subscription_retries r
         WHERE r.subscription = $1 AND r.due_at <= clock_timestamp() AND NOT EXISTS (
           SELECT FROM subscription_retries earlier
           WHERE earlier.subscription = r.subscription AND earlier.stream_id = r.stream_id
             AND earlier.position < r.position AND earlier.due_at IS NOT NULL
         )
         ORDER BY r.due_at LIMIT $2 FOR UPDATE OF r SKIP LOCKED`,
        [name, RETRIES],
      );
      if (due.length === 0) return false;
      const outcomes = await Promise.all(due.map((retry) => this.tryAgain(retry)));
      const done = outcomes.flatMap(({ position, reason }) => (reason === undefined ? [position] : []));
      await transaction.query(
        'DELETE FROM subscription_retries WHERE subscription = $1 AND position = ANY ($2::bigint[])',
        [name, done],
      );
      for (const { position, attempts, reason } of outcomes) {
        if (reason === undefined) continue;
        await transaction.query(
          `UPDATE subscription_retries SET attempts = $3, reason = $4,
             due_at = clock_timestamp() + make_interval(secs => $5::float8),
             parked_at = CASE WHEN $5::float8 IS NULL THEN clock_timestamp() END
           WHERE subscription = $1 AND position = $2`,
          [name, position, attempts, reason, pauseAfter(attempts)],
        );
      }
      return due.length === RETRIES || done.length > 0;
    });
  }

  private async tryAgain({ position, attempts }: Retry) {
    const at = Number(position);
    const [event] = await this.store.readAll(at - 1, at, 1);
    const error = event
      ? await attempt((signal) => this.subscription.handle(event, signal))
      : new Error('The event cannot be read.');
    if (error === undefined) return { position, attempts, reason: undefined };
    if (isUnavailable(error) || isTransient(error)) throw error as Error;
    const reason = describeError(error);
    this.tell(at, event?.type, attempts + 1, reason);
    return { position, attempts: attempts + 1, reason };
  }

  private tell(position: number, type: string | undefined, attempts: number, reason: string): void {
    const { name: subscription } = this.subscription;
    if (attempts < MOST_ATTEMPTS) {
      // The pauses grow: each event says so seven times in nine hours.
      const message = 'a reaction failed: it is tried again';
      this.logger.warn({ message, subscription, position, type, attempts, reason });
    } else {
      const message = 'a reaction failed for the last time: it is parked until somebody retries or skips it';
      this.logger.error({ message, subscription, position, type, attempts, reason });
    }
  }
}
