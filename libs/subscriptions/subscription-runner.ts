import { type LoggerService } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { inTransaction, type Transaction } from '#libs/database';
import { type EventStore, type RecordedEvent, type UnreadablePersonalData } from '#libs/event-store';
import { attempt, CLAIM_SECONDS, MOST_ATTEMPTS, pauseAfter, type RowLease, withRowLease } from '#libs/work';
import { type Subscription } from './subscription.js';

/** Events of one page, and how many of them are handled at the same time. */
const PAGE = 500;
const AT_ONCE = 8;
/** After this time, no more events of a page are started. */
const LONG_PAGE_MS = 5_000;
const LIMITS = { statement: 60_000 };
/** Retries that are claimed at a time. */
const RETRIES = 20;

/** `attempts`: including the one that starts. */
type Retry = { position: string; attempts: number };
type Failure = { event: UnreadablePersonalData['event']; reason: string };

const CURSORS = { table: 'subscriptions', key: 'name', returning: 'position' };
type Cursor = { position: string };

const MOVE = `
  UPDATE subscriptions SET position = $3, holder = NULL, held_until = NULL WHERE name = $1 AND holder = $2`;
const TAKE_RETRIES = `
  UPDATE subscription_retries SET attempts = attempts + 1, due_at = clock_timestamp() + make_interval(secs => $3)
  WHERE subscription = $1 AND position IN (
    SELECT r.position FROM subscription_retries r
    WHERE r.subscription = $1 AND r.due_at <= clock_timestamp() AND NOT EXISTS (
      SELECT FROM subscription_retries earlier
      WHERE earlier.subscription = r.subscription AND earlier.stream_id = r.stream_id
        AND earlier.position < r.position AND earlier.due_at IS NOT NULL
    )
    ORDER BY r.due_at LIMIT $2 FOR UPDATE OF r SKIP LOCKED
  ) RETURNING position, attempts`;

/**
 * Advances one subscription. The cursor's row is the lease. One transaction moves the cursor and adds failed
 * events, and those that wait for them, to the retry table. It fails if another instance has taken over. So
 * each event is either handled or in that table.
 *
 * No transaction is open while events are handled. It would keep a connection, perhaps the only one, and
 * locks that a command of the handler may wait for.
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

  /** @returns whether there may be more to do now. Also false if another instance advances it. */
  async work(): Promise<boolean> {
    const retried = await this.retry();
    const hasMore = await withRowLease(
      this.source,
      CURSORS,
      this.subscription.name,
      (lease: RowLease<Cursor>) => this.advance(lease),
    );
    return hasMore === true || retried;
  }

  private async advance({ owner, row }: RowLease<Cursor>): Promise<boolean> {
    const { name, handles } = this.subscription;
    const before = Number(row.position);
    // Before the events are read, in a separate statement.
    const horizon = await this.store.horizon();
    const end = horizon > before ? await this.store.pageEnd(before, horizon, PAGE, handles) : before;
    const unreadable: Failure[] = [];
    const read = () =>
      this.store.readAll(before, end, PAGE, handles, undefined, ({ event, message: reason }) =>
        unreadable.push({ event, reason }),
      );
    const page = end > before ? await read() : [];
    const chosen = this.subscription.choose?.(page) ?? page;
    const blocked = await this.streamsThatWait(chosen);
    for (const { event } of unreadable) blocked.add(event.streamId);
    const { failures: failed, behind, next } = await this.handleInOrder(chosen, blocked);
    const failures = [...unreadable, ...failed];
    // Events that were not started come with the next page.
    const reached = next ? next.position - 1 : end;
    await inTransaction(this.source, LIMITS, async (transaction) => {
      const [, moved] = await transaction.query<[unknown, number]>(MOVE, [name, owner, reached]);
      if (moved === 0) throw new Error('It took too long, and another instance has taken over.');
      await this.putOff(transaction, failures, behind);
    });
    for (const { event, reason } of failures) this.tell(event.position, event.type, 1, reason);
    return reached < horizon;
  }

  /** The streams that have an event to be retried. */
  private async streamsThatWait(events: readonly RecordedEvent[]): Promise<Set<string>> {
    if (events.length === 0) return new Set();
    const rows = await this.source.query<{ stream_id: string }[]>(
      `SELECT DISTINCT stream_id FROM subscription_retries
       WHERE subscription = $1 AND stream_id = ANY ($2::uuid[]) AND due_at IS NOT NULL`,
      [this.subscription.name, events.map(({ streamId }) => streamId)],
    );
    return new Set(rows.map(({ stream_id }) => stream_id));
  }

  /**
   * Handles several events at the same time, but those of one stream one after the other.
   *
   * @returns `behind`: events of streams that wait. `next`: the first event that was not started, because time was up.
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
        try {
          const reason = await attempt((signal) => this.subscription.handle(event, signal));
          if (reason === undefined) return;
          failures.push({ event, reason });
        } catch (error) {
          unavailable ??= error;
        }
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
  }

  /** Retries what is due. */
  private async retry(): Promise<boolean> {
    const { name } = this.subscription;
    const [due] = await this.source.query<[Retry[], number]>(TAKE_RETRIES, [name, RETRIES, CLAIM_SECONDS]);
    if (due.length === 0) return false;
    const handled = await Promise.all(due.map((retry) => this.tryAgain(retry)));
    return due.length === RETRIES || handled.includes(true);
  }

  /** @returns whether it was handled. */
  private async tryAgain({ position, attempts }: Retry): Promise<boolean> {
    const { name } = this.subscription;
    const at = Number(position);
    const [event] = await this.store.readAll(at - 1, at, 1);
    const reason = event
      ? await attempt((signal) => this.subscription.handle(event, signal))
      : 'The event cannot be read.';
    if (reason === undefined) {
      await this.source.query('DELETE FROM subscription_retries WHERE subscription = $1 AND position = $2', [
        name,
        position,
      ]);
      return true;
    }
    await this.source.query(
      `UPDATE subscription_retries SET reason = $3, due_at = clock_timestamp() + make_interval(secs => $4::float8),
         parked_at = CASE WHEN $4::float8 IS NULL THEN clock_timestamp() END
       WHERE subscription = $1 AND position = $2`,
      [name, position, reason, pauseAfter(attempts)],
    );
    this.tell(at, event?.type, attempts, reason);
    return false;
  }

  private tell(position: number, type: string | undefined, attempts: number, reason: string): void {
    const { name: subscription } = this.subscription;
    if (attempts < MOST_ATTEMPTS) {
      // The pauses grow: seven lines per event in nine hours.
      const message = 'handling an event failed: it will be retried';
      this.logger.warn({ message, subscription, position, type, attempts, reason });
    } else {
      const message =
        'handling an event failed for the last time: it is a dead letter until you retry or skip it';
      this.logger.error({ message, subscription, position, type, attempts, reason });
    }
  }
}
