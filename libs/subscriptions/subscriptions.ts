import { type LoggerService } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { describeError, literal, type IncidentLog } from '#libs/database';
import { type EventStore } from '#libs/event-store';
import { Worker } from '#libs/work';
import { type Subscription } from './subscription.js';
import { SubscriptionRunner } from './subscription-runner.js';
import { type Timer, Timers } from './timers.js';

/** The pause after a failed poll. */
const PAUSE_MS = 1_000;
/** The maximum age of `lastSeen`: normally, and while a subscription is behind. */
const POLL_MS = 10_000;
const POLL_WHILE_BEHIND_MS = 500;

export type SubscriptionStatus = {
  name: string;
  position: number;
  /** Positions between its cursor and the horizon. */
  lag: number;
  /** Events that failed or wait for an earlier one of their stream. They are retried automatically. */
  retrying: number;
  /** Dead-lettered events, which only an operator can retry, and the first hundred of them. */
  parked: number;
  parkedEvents: { position: number; organizationId: string; at: Date; reason: string }[];
};

/**
 * The same as {@link SubscriptionStatus} for one organization, without the reasons, which are only for
 * operators.
 */
export type Failures = { name: string; retrying: number; parked: { position: number; at: Date }[] };
type FailuresRow = { name: string; retrying: string; parked: { position: number; at: string }[] | null };

type StatusRow = {
  name: string;
  position: string;
  lag: string;
  retrying: string;
  is_due: boolean;
  parked: string;
  parked_events: { position: number; organizationId: string; at: string; reason: string }[] | null;
};

/** Runs the subscriptions. All instances share the work. */
export class Subscriptions {
  private readonly worker: Worker;
  /** The work in progress, by subscription. */
  private readonly busy = new Map<string, Promise<void>>();
  readonly timers: Timers;
  /** As of the last poll. Reading it costs no query. */
  lastSeen: readonly SubscriptionStatus[] | undefined;

  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
    private readonly logger: Pick<LoggerService, 'log' | 'warn' | 'error'>,
    incidents?: IncidentLog,
  ) {
    this.worker = new Worker((error, subscription, isRepeated) => {
      const message = 'processing a subscription failed: it will be retried';
      if (!isRepeated) logger.warn({ message, subscription, reason: describeError(error) });
    }, incidents);
    this.timers = new Timers(source, logger);
  }

  /** Starts handling events in the background. */
  start(subscriptions: readonly Subscription[], timers: readonly Timer[] = []): void {
    const { worker } = this;
    const isStopping = () => worker.signal.aborted;
    const runners = subscriptions.map(
      (one) => new SubscriptionRunner(one, this.source, this.store, this.logger, isStopping),
    );
    const handled = new Set(subscriptions.flatMap(({ handles }) => handles));
    const poller = this.store.pulse.watch(questionOf(runners, timers), ({ writes }) =>
      writes.some(({ events }) => events.some(({ type }) => handled.has(type))),
    );
    let isPrepared = false;
    const turn = async () => {
      if (!isPrepared) for (const runner of runners) await runner.prepare();
      isPrepared = true;
      await this.poll(runners, timers);
    };
    const wait = async (hasFailed: boolean) => {
      if (hasFailed) await worker.pause(PAUSE_MS);
      const isBehind = this.lastSeen?.some(({ lag }) => lag > 0) ?? false;
      await poller.next(worker.signal, isBehind ? POLL_WHILE_BEHIND_MS : POLL_MS);
    };
    worker.start(turn, wait, 'subscriptions');
  }

  /** Resolves when the work in progress has ended. None of it will be repeated. */
  async stop(): Promise<void> {
    await this.worker.stop();
    await Promise.all(this.busy.values());
  }

  /** The status in the database, including subscriptions of other versions. */
  async status(): Promise<SubscriptionStatus[]> {
    return (await this.source.query<StatusRow[]>(STATUS)).map(statusIn);
  }

  /** One organization's failed events: those that are retried, and the first hundred dead letters. */
  async failuresOf(organizationId: string): Promise<Failures[]> {
    return (await this.source.query<FailuresRow[]>(FAILURES, [organizationId])).map(
      ({ name, retrying, parked }) => ({
        name,
        retrying: Number(retrying),
        parked: (parked ?? []).map(({ position, at }) => ({ position, at: new Date(at) })),
      }),
    );
  }

  /**
   * Retries failed events, beginning with the first attempt.
   *
   * @param position only this event.
   * @returns the number of events.
   */
  async retry(name: string, position?: number): Promise<number> {
    await this.require(name);
    const [, count] = await this.source.query<[unknown, number]>(
      `UPDATE subscription_retries SET attempts = 0, due_at = clock_timestamp(), parked_at = NULL
       WHERE subscription = $1 AND ($2::bigint IS NULL OR position = $2)`,
      [name, position ?? null],
    );
    return count;
  }

  /** Gives up a failed event. @returns whether it existed. */
  async skip(name: string, position: number): Promise<boolean> {
    await this.require(name);
    const [, count] = await this.source.query<[unknown, number]>(
      'DELETE FROM subscription_retries WHERE subscription = $1 AND position = $2',
      [name, position],
    );
    return count > 0;
  }

  private async require(name: string): Promise<void> {
    const rows = await this.source.query<{ name: string }[]>('SELECT name FROM subscriptions ORDER BY name');
    if (rows.some((row) => row.name === name)) return;
    const names = rows.map((row) => row.name).join(', ');
    throw new Error(`No subscription has the name "${name}". Available subscriptions: ${names || 'none'}.`);
  }

  /** Starts all work that is due. A waiting subscription does not delay the others. */
  private async poll(runners: readonly SubscriptionRunner[], timers: readonly Timer[]): Promise<void> {
    const rows = await this.source.query<StatusRow[]>(STATUS);
    this.lastSeen = rows.map(statusIn);
    for (const runner of await this.runnersWithWork(runners, rows))
      this.begin(runner.subscription.name, () => runner.work());
    if (timers.length > 0 && (await this.timers.areDue()))
      this.begin('timers', () => this.timers.fire(timers));
  }

  /**
   * Idle subscriptions, which handle none of the new events, move to the horizon in one statement.
   *
   * @returns the others.
   */
  private async runnersWithWork(
    runners: readonly SubscriptionRunner[],
    rows: readonly StatusRow[],
  ): Promise<SubscriptionRunner[]> {
    const own = runners.flatMap((runner) => {
      const row = rows.find(({ name }) => name === runner.subscription.name);
      return row ? [{ runner, ...row, lag: Number(row.lag), position: Number(row.position) }] : [];
    });
    const { concerned, idle, horizon } = await this.store.splitByNews(
      own.filter(({ lag }) => lag > 0),
      ({ runner }) => runner.subscription.handles,
    );
    if (idle.length > 0)
      await this.source.query(SKIP, [
        idle.map(({ name }) => name),
        idle.map(({ position }) => position),
        horizon,
      ]);
    return own.filter((one) => one.is_due || concerned.includes(one)).map(({ runner }) => runner);
  }

  private begin(name: string, work: () => Promise<boolean>): void {
    if (this.busy.has(name)) return;
    this.busy.set(
      name,
      this.workUntilDone(name, work).finally(() => this.busy.delete(name)),
    );
  }

  /** @param work returns whether there is more to do now. */
  private async workUntilDone(name: string, work: () => Promise<boolean>): Promise<void> {
    let hasMore = true;
    while (hasMore && !this.worker.signal.aborted) {
      hasMore = false;
      await this.worker.attempt(name, async () => {
        hasMore = await work();
      });
    }
  }
}

function statusIn({ name, position, lag, retrying, parked, parked_events }: StatusRow): SubscriptionStatus {
  return {
    name,
    position: Number(position),
    lag: Number(lag),
    retrying: Number(retrying),
    parked: Number(parked),
    parkedEvents: (parked_events ?? []).map(({ at, ...event }) => ({ ...event, at: new Date(at) })),
  };
}

/** SQL: whether a free cursor is behind the horizon, or a retry or a timer is due. */
function questionOf(runners: readonly SubscriptionRunner[], timers: readonly Timer[]): string {
  const list = (names: readonly string[]) => `ARRAY[${names.map(literal).join(', ')}]::text[]`;
  const names = list(runners.map(({ subscription }) => subscription.name));
  return `EXISTS (
      SELECT FROM subscriptions s WHERE s.name = ANY (${names}) AND s.position < h.horizon
        AND (s.held_until IS NULL OR s.held_until < clock_timestamp())
    ) OR EXISTS (
      SELECT FROM subscription_retries r WHERE r.subscription = ANY (${names}) AND r.due_at <= clock_timestamp()
    ) OR EXISTS (
      SELECT FROM timers t WHERE t.timer = ANY (${list(timers.map(({ name }) => name))}) AND t.next_at <= clock_timestamp()
    )`;
}

/** Only if the cursor has not moved since it was read, and no instance has its lease. */
const SKIP = `
  UPDATE subscriptions SET position = $3, holder = NULL, held_until = NULL WHERE name IN (
    SELECT s.name FROM subscriptions s JOIN unnest($1::text[], $2::bigint[]) AS idle(name, position) USING (name, position)
    WHERE s.held_until IS NULL OR s.held_until < clock_timestamp() FOR UPDATE OF s SKIP LOCKED
  )`;

const STATUS = `
  WITH horizon AS MATERIALIZED (SELECT event_horizon() AS position)
  SELECT s.name, s.position, greatest(0, h.position - s.position) AS lag,
    (SELECT count(*) FROM subscription_retries r WHERE r.subscription = s.name AND r.due_at IS NOT NULL) AS retrying,
    EXISTS (SELECT FROM subscription_retries r WHERE r.subscription = s.name AND r.due_at <= clock_timestamp()) AS is_due,
    (SELECT count(*) FROM subscription_retries r WHERE r.subscription = s.name AND r.due_at IS NULL) AS parked,
    (SELECT jsonb_agg(p ORDER BY p.position) FROM (
       SELECT r.position, r.organization_id AS "organizationId", r.parked_at AS at, r.reason
       FROM subscription_retries r WHERE r.subscription = s.name AND r.due_at IS NULL
       ORDER BY r.position LIMIT 100
     ) p) AS parked_events
  FROM subscriptions s CROSS JOIN horizon h ORDER BY s.name`;

const FAILURES = `
  WITH failed AS MATERIALIZED (
    SELECT subscription, position, due_at, parked_at FROM subscription_retries WHERE organization_id = $1
  )
  SELECT f.subscription AS name, count(f.due_at) AS retrying,
    (SELECT jsonb_agg(p ORDER BY p.position) FROM (
       SELECT r.position, r.parked_at AS at FROM failed r
       WHERE r.subscription = f.subscription AND r.due_at IS NULL ORDER BY r.position LIMIT 100
     ) p) AS parked
  FROM failed f GROUP BY f.subscription ORDER BY f.subscription`;
