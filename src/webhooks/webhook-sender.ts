import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Commands } from '#libs/commands';
import { describeError, inTransaction, type Transaction, IncidentLog } from '#libs/database';
import { EventStore } from '#libs/event-store';
import { type BackgroundWork } from '#libs/modules';
import { Input, systemInput } from '#libs/rpc';
import { Worker } from '#libs/work';
import { Deliveries } from './deliveries.js';
import { WebhookExpansions } from './webhook-expansions.js';
import { WebhookRequests } from './webhook-requests.js';
import { type Target, WebhookRunner } from './webhook-runner.js';
import { disableWebhook, webhook } from './webhook.js';
import { webhooks } from './webhooks.js';

/** While deliveries are in progress: how often to check whether their webhooks are still active. */
const POLL_MS = 250;
/**
 * Limits of webhooks that an instance handles concurrently: in total and per organization. If a webhook's last
 * attempt failed, lower limits apply. So receivers that hang block only each other.
 */
const MOST_AT_ONCE = 64;
const FAILING_AT_ONCE = 16;
const OF_ONE_ORGANIZATION = 4;
const FAILING_OF_ONE_ORGANIZATION = 2;
/** How long to wait for requests in progress when the program stops. */
const STOP_TIMEOUT_MS = 4_000;
const FORGET_EVERY_MS = 3_600_000;
const IDLE_POLL_MS = 3_600_000;
const MOST_KNOWN = 10_000;
const LIMITS = { statement: 60_000 };

type Row = {
  webhook_id: string;
  organization_id: string;
  is_failing: boolean;
  is_behind: boolean;
  is_due: boolean;
};

/** Positions per statement. */
const LARGEST_STEP = 5_000;
const TAKE_NEWS = 'SELECT position FROM webhook_news WHERE position < $1 FOR UPDATE SKIP LOCKED';
/** Marks the organizations with events after $1, up to $2. Then everything up to $2 has been checked. */
const MARK_NEWS = `
  WITH news AS (
    SELECT organization_id, max(position) AS position FROM events WHERE position > $1 AND position <= $2 GROUP BY organization_id
  ), told AS (
    UPDATE webhook_cursors c SET news = n.position FROM news n
    WHERE c.organization_id = n.organization_id AND c.news < n.position
  )
  UPDATE webhook_news SET position = $2`;

const IS_BEHIND = 'c.news > c.position AND (c.held_until IS NULL OR c.held_until < clock_timestamp())';
const ACTIVE = `
  JOIN ${webhooks.table} w ON w.organization_id = c.organization_id AND w.id = c.webhook_id AND w.status = 'ACTIVE'`;

const IS_ANYTHING_TO_DO = `(SELECT position FROM webhook_news) < h.horizon
  OR EXISTS (SELECT FROM webhook_cursors c ${ACTIVE} WHERE ${IS_BEHIND})
  OR EXISTS (
    SELECT FROM webhook_retries r JOIN webhook_cursors c ON c.webhook_id = r.webhook_id ${ACTIVE}
    WHERE r.due_at <= clock_timestamp()
  )`;

/**
 * SQL of a row for metrics: webhooks with events to send, retries that are due, and seconds since the oldest
 * was due. Counts end at 10,000.
 */
export const WEBHOOK_BACKLOG = `
  WITH due AS (
    SELECT r.due_at FROM webhook_retries r JOIN webhook_cursors c ON c.webhook_id = r.webhook_id ${ACTIVE}
    WHERE r.due_at <= clock_timestamp() ORDER BY r.due_at LIMIT 10000
  )
  SELECT
    (SELECT count(*) FROM (SELECT FROM webhook_cursors c ${ACTIVE} WHERE c.news > c.position LIMIT 10000) AS behind)
      AS "webhooksBehind",
    (SELECT count(*) FROM due) AS "webhookRetriesDue",
    (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(due_at)), 0) FROM due) AS "webhookRetrySeconds"`;

/** $1: the webhooks in progress. Interleaves the organizations: first one webhook of each, then the next. */
const POLL = `
  WITH concerned AS (
    SELECT webhook_id FROM webhook_cursors WHERE news > position
    UNION SELECT webhook_id FROM webhook_retries WHERE due_at <= clock_timestamp()
    UNION SELECT unnest($1::uuid[])
  ), looked AS (
    SELECT c.webhook_id, c.organization_id, c.failing_since IS NOT NULL AS is_failing, ${IS_BEHIND} AS is_behind,
      EXISTS (
        SELECT FROM webhook_retries r WHERE r.webhook_id = c.webhook_id AND r.due_at <= clock_timestamp()
      ) AS is_due
    FROM concerned JOIN webhook_cursors c ON c.webhook_id = concerned.webhook_id ${ACTIVE}
  )
  SELECT *, row_number() OVER (PARTITION BY organization_id ORDER BY is_failing, random()) AS turn FROM looked
  WHERE is_behind OR is_due OR webhook_id = ANY ($1::uuid[])
  ORDER BY turn, random()`;

/** An internal command, not an operation of the API. */
class DisableWebhook extends Input {
  webhookId!: string;
}

/** Sends events to webhooks. All instances share the work. */
@Injectable()
export class WebhookSender implements BackgroundWork {
  private readonly logger = new Logger('WebhookSender');
  private readonly worker: Worker;
  /** Key: `<webhook> first` for first attempts, `<webhook> again` for retries. */
  private readonly busy = new Map<string, Target & { isFailing: boolean; done: Promise<void> }>();
  /** Webhooks with work that were active at the last poll. */
  private active = new Set<string>();
  /** Organizations with webhooks seen by this instance. Events it appends for them are sent immediately. */
  private readonly known = new Set<string>();

  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
    private readonly commands: Commands,
    private readonly requests: WebhookRequests,
    private readonly deliveries: Deliveries,
    private readonly expansions: WebhookExpansions,
    incidents: IncidentLog,
  ) {
    this.worker = new Worker((error, what, isRepeated) => {
      const message = 'processing webhooks failed: it will be retried';
      if (!isRepeated) this.logger.warn({ message, what, reason: describeError(error) });
    }, incidents);
  }

  start(): void {
    const { worker } = this;
    const poller = this.store.pulse.watch(IS_ANYTHING_TO_DO, ({ organizationId }) =>
      this.known.has(organizationId),
    );
    const wait = async (hasFailed: boolean) => {
      if (hasFailed) await worker.pause(4 * POLL_MS);
      await poller.next(worker.signal, this.busy.size > 0 ? POLL_MS : IDLE_POLL_MS);
    };
    worker.start(() => this.poll(), wait, 'webhooks');
    const untilNext = (hasFailed: boolean) => worker.pause(hasFailed ? 4 * POLL_MS : FORGET_EVERY_MS);
    worker.start(() => this.deliveries.forget(), untilNext, 'old deliveries');
  }

  async stop(): Promise<void> {
    const timeout = setTimeout(() => this.requests.end(), STOP_TIMEOUT_MS);
    await this.worker.stop();
    await Promise.all([...this.busy.values()].map(({ done }) => done));
    clearTimeout(timeout);
    this.requests.end();
  }

  private async poll(): Promise<void> {
    await this.markNews();
    const workedOn = new Set([...this.busy.values()].map(({ webhookId }) => webhookId));
    const rows = await this.source.query<Row[]>(POLL, [[...workedOn]]);
    // Includes those started below, which were active a moment ago.
    this.active = new Set(rows.map(({ webhook_id }) => webhook_id));
    if (this.known.size > MOST_KNOWN) this.known.clear();
    for (const row of rows) {
      this.known.add(row.organization_id);
      if (row.is_behind) this.begin(row, 'first');
      if (row.is_due) this.begin(row, 'again');
    }
  }

  /** Marks the cursors of all organizations with new events. One instance at a time does this. */
  private async markNews(): Promise<void> {
    // Before the events are read, in a separate statement.
    const horizon = await this.store.horizon();
    // In two statements, so that the second one sees cursors created in the meantime.
    const step = async (transaction: Transaction) => {
      const [taken] = await transaction.query<{ position: string }[]>(TAKE_NEWS, [horizon]);
      if (!taken) return false;
      const upTo = Math.min(horizon, Number(taken.position) + LARGEST_STEP);
      await transaction.query(MARK_NEWS, [taken.position, upTo]);
      return upTo < horizon;
    };
    while (await inTransaction(this.source, LIMITS, step));
  }

  private begin({ webhook_id: webhookId, organization_id, is_failing }: Row, what: 'first' | 'again'): void {
    const key = `${webhookId} ${what}`;
    if (this.busy.has(key) || !this.hasPlaceFor(organization_id, is_failing)) return;
    const target = { webhookId, organizationId: organization_id };
    const isStopped = () => this.worker.signal.aborted || !this.active.has(webhookId);
    const runner = new WebhookRunner(
      target,
      this.source,
      this.store,
      this.requests,
      this.deliveries,
      this.expansions,
      isStopped,
    );
    const done = this.worker
      .attempt(webhookId, async () => {
        const { failingSince } = await (what === 'first' ? runner.advance() : runner.retry());
        if (failingSince) await this.disable(target, failingSince);
      })
      .then(() => void this.busy.delete(key));
    this.busy.set(key, { ...target, isFailing: is_failing, done });
  }

  private hasPlaceFor(organization: string, isFailing: boolean): boolean {
    const all = [...this.busy.values()];
    const own = all.filter(({ organizationId }) => organizationId === organization);
    if (all.length >= MOST_AT_ONCE || own.length >= OF_ONE_ORGANIZATION) return false;
    const failing = (some: typeof all) => some.filter((one) => one.isFailing).length;
    return !isFailing || (failing(all) < FAILING_AT_ONCE && failing(own) < FAILING_OF_ONE_ORGANIZATION);
  }

  private async disable({ webhookId, organizationId }: Target, failingSince: Date): Promise<void> {
    const input = systemInput(DisableWebhook, organizationId, { webhookId }, 'webhooks');
    await this.commands.change(webhook, input, webhookId, (state) => disableWebhook(state, failingSince));
    const message = 'webhook disabled: all deliveries failed for three days';
    this.logger.warn({ message, webhookId, organizationId });
  }
}
