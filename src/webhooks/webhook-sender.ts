import { Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { Commands } from '#libs/commands';
import { describeError, TroubleLog } from '#libs/database';
import { EventStore } from '#libs/event-store';
import { type BackgroundWork } from '#libs/modules';
import { Input, systemInput } from '#libs/rpc';
import { Deliveries } from './deliveries.js';
import { WebhookRequests } from './webhook-requests.js';
import { type Target, WebhookRunner } from './webhook-runner.js';
import { disableWebhook, webhook } from './webhook.js';
import { webhooks } from './webhooks.js';

/** How often each instance looks for what there is to send, and which webhooks are active still. */
const POLL_MS = 250;
/**
 * Webhooks that an instance works on at once: of one organization, and of those whose last attempt has failed, only a part, in all and
 * of one organization. So receivers that hang have their own places alone.
 */
const MOST_AT_ONCE = 64;
const FAILING_AT_ONCE = 16;
const OF_ONE_ORGANIZATION = 4;
const FAILING_OF_ONE_ORGANIZATION = 2;
/** What is under way when the program stops is awaited for so long. */
const PATIENCE_MS = 4_000;
const FORGET_EVERY_MS = 3_600_000;

type Row = {
  webhook_id: string;
  organization_id: string;
  is_failing: boolean;
  is_behind: boolean;
  is_due: boolean;
};

/** $1: those that are worked on. Organizations in turn, the first of each first. */
const POLL = `
  WITH horizon AS MATERIALIZED (SELECT event_horizon() AS position),
  looked AS (
    SELECT c.webhook_id, c.organization_id, c.failing_since IS NOT NULL AS is_failing,
      (c.held_until IS NULL OR c.held_until < clock_timestamp()) AND EXISTS (
        SELECT FROM events e WHERE e.organization_id = c.organization_id AND e.position > c.position AND e.position <= h.position
      ) AS is_behind,
      EXISTS (
        SELECT FROM webhook_retries r WHERE r.webhook_id = c.webhook_id AND r.due_at <= clock_timestamp()
      ) AS is_due
    FROM webhook_cursors c CROSS JOIN horizon h
    JOIN ${webhooks.table} w ON w.organization_id = c.organization_id AND w.id = c.webhook_id AND w.status = 'ACTIVE'
  )
  SELECT *, row_number() OVER (PARTITION BY organization_id ORDER BY is_failing, random()) AS turn FROM looked
  WHERE is_behind OR is_due OR webhook_id = ANY ($1::uuid[])
  ORDER BY turn, random()`;

/** The command of the program itself; no operation. */
class DisableWebhook extends Input {
  webhookId!: string;
}

/** Sends the history to webhooks, on every instance together. */
@Injectable()
export class WebhookSender implements BackgroundWork {
  private readonly logger = new Logger('WebhookSender');
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  /** What could not be worked on when it was tried last. */
  private readonly failing = new Set<string>();
  private forgottenAt = 0;
  private forgetting: Promise<unknown> | undefined;
  /** By what is done: `<webhook> first` or `<webhook> again`. */
  private readonly busy = new Map<string, Target & { isFailing: boolean; done: Promise<void> }>();
  /** As of the last look: of those that are worked on. */
  private active = new Set<string>();

  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
    private readonly commands: Commands,
    private readonly requests: WebhookRequests,
    private readonly deliveries: Deliveries,
    private readonly troubles: TroubleLog,
  ) {}

  start(): void {
    this.running = this.pollUntilStopped();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    const patience = setTimeout(() => this.requests.end(), PATIENCE_MS);
    await this.running;
    await Promise.all([this.forgetting, ...[...this.busy.values()].map(({ done }) => done)]);
    clearTimeout(patience);
    this.requests.end();
  }

  private async pollUntilStopped(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const isDone = await this.tried('webhooks', () => this.look());
      await sleep(isDone ? POLL_MS : 4 * POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  private async look(): Promise<void> {
    const workedOn = new Set([...this.busy.values()].map(({ webhookId }) => webhookId));
    const rows = await this.source.query<Row[]>(POLL, [[...workedOn]]);
    // Of those that are begun below too: they were active a moment ago.
    this.active = new Set(rows.map(({ webhook_id }) => webhook_id));
    for (const row of rows) {
      if (row.is_behind) this.begin(row, 'first');
      if (row.is_due) this.begin(row, 'again');
    }
    if (Date.now() - this.forgottenAt < FORGET_EVERY_MS) return;
    this.forgottenAt = Date.now();
    this.forgetting = this.tried('deliveries', () => this.deliveries.forget());
  }

  private begin({ webhook_id: webhookId, organization_id, is_failing }: Row, what: 'first' | 'again'): void {
    const key = `${webhookId} ${what}`;
    if (this.busy.has(key) || !this.hasPlaceFor(organization_id, is_failing)) return;
    const target = { webhookId, organizationId: organization_id };
    const isStopped = () => this.stopping.signal.aborted || !this.active.has(webhookId);
    const runner = new WebhookRunner(
      target,
      this.source,
      this.store,
      this.requests,
      this.deliveries,
      isStopped,
    );
    const done = this.tried(webhookId, async () => {
      const { failingSince } = await (what === 'first' ? runner.advance() : runner.retry());
      if (failingSince) await this.disable(target, failingSince);
    }).then(() => void this.busy.delete(key));
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
    const message = 'a webhook is disabled: nothing but failures for three days';
    this.logger.warn({ message, webhookId, organizationId });
  }

  private async tried(what: string, work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      this.failing.delete(what);
      return true;
    } catch (error) {
      const isTold = this.stopping.signal.aborted || this.troubles.tell(error);
      const message = 'webhooks cannot be worked on: it is tried again';
      // Said once, not four times a second.
      if (!this.failing.has(what) && !isTold)
        this.logger.warn({ message, what, reason: describeError(error) });
      this.failing.add(what);
      return false;
    }
  }
}
