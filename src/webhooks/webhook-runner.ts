import { type DataSource } from 'typeorm';
import { inTransaction, type Transaction } from '#libs/database';
import { type EventStore, type RecordedEvent } from '#libs/event-store';
import { MOST_ATTEMPTS, pauseAfter, type RowLease, withRowLease } from '#libs/work';
import { type Deliveries, type Delivery } from './deliveries.js';
import { type ExpandedRecords, type WebhookExpansions } from './webhook-expansions.js';
import { type Attempt, type WebhookRequests } from './webhook-requests.js';
import { type ExistingWebhook, type Webhook } from './webhook.js';
import { webhookBody } from './webhook-body.js';
import { webhooks } from './webhooks.js';

/** Events per page, and how many of them are sent concurrently. */
const PAGE = 128;
const AT_ONCE = 8;
/**
 * After this many failures in a row, the cursor stops: while a receiver is down, all new events would use up their
 * attempts. A receiver that has only failed since is tried with one event at a time.
 */
const FAILURES_IN_A_ROW = 8;
const AWAY_SECONDS = 0.5;
/** Until the next attempt: as long as it has been failing, within these limits. */
const SHORTEST_REST_SECONDS = 1;
const LONGEST_REST_SECONDS = 60;
/** After an outage of this length, the first success brings the waiting retries forward. */
const ABSENCE_SECONDS = 30;
/**
 * After this time, no more events of a page are started. Personal data was read with the page, and people erased since
 * must not be included.
 */
const LONG_PAGE_MS = 1_000;
/** After this time, no more pages or retries are started, so that others have their turn. */
const TURN_MS = 5_000;
/** Lease of a retry: longer than an attempt takes. */
const TAKEN_SECONDS = 30;
/** Retries of one webhook that are claimed at a time. */
const RETRIES = 8;
/** Days without a success until the webhook is disabled. */
const LONGEST_FAILING_DAYS = 3;

const LIMITS = { statement: 60_000 };

export type Target = { webhookId: string; organizationId: string };
type Retry = { position: string; event_id: string; attempts: number };
/** If set, the webhook is disabled, because every attempt since this time has failed. */
type DeliveryOutcome = { failingSince: Date | undefined };

const CURSORS = {
  table: 'webhook_cursors',
  key: 'webhook_id',
  returning:
    'position, coalesce(extract(epoch FROM clock_timestamp() - failing_since), 0)::float8 AS failing',
};
/** `failing`: seconds since all attempts have failed. */
type Cursor = { position: string; failing: number };
// Not if another instance has taken over, or if the webhook was replayed in the meantime.
const MOVE =
  'UPDATE webhook_cursors SET position = $4 WHERE webhook_id = $1 AND holder = $2 AND position = $3';
/** $2: whether the last attempt succeeded. $3: whether any did, which ends the pause of a stopped cursor. */
const NOTE_HEALTH = `
  UPDATE webhook_cursors c SET
    failing_since = CASE WHEN $2 THEN NULL WHEN $3 THEN clock_timestamp() ELSE coalesce(c.failing_since, clock_timestamp()) END,
    held_until = CASE WHEN $3 AND holder IS NULL THEN NULL ELSE held_until END
  FROM (SELECT failing_since FROM webhook_cursors WHERE webhook_id = $1 FOR UPDATE) before
  WHERE webhook_id = $1 AND (NOT $2 OR c.failing_since IS NOT NULL)
  RETURNING c.failing_since, c.failing_since < clock_timestamp() - make_interval(days => ${LONGEST_FAILING_DAYS}) AS is_over,
    $3 AND before.failing_since < clock_timestamp() - make_interval(secs => ${ABSENCE_SECONDS}) AS is_back`;
/**
 * At the earliest in a second, because one of them may have just failed. Retries claimed by an instance are due before
 * that.
 */
const COME_SOON = `
  UPDATE webhook_retries SET due_at = clock_timestamp() + make_interval(secs => 1 + random() * (${ABSENCE_SECONDS} - 1))
  WHERE webhook_id = $1 AND due_at > clock_timestamp() + make_interval(secs => ${ABSENCE_SECONDS} + 5)`;
const TAKE_RETRIES = `
  UPDATE webhook_retries SET attempts = attempts + 1, due_at = clock_timestamp() + make_interval(secs => $3)
  WHERE webhook_id = $1 AND position IN (
    SELECT position FROM webhook_retries WHERE webhook_id = $1 AND due_at <= clock_timestamp()
    ORDER BY due_at, position LIMIT $2 FOR UPDATE SKIP LOCKED
  ) RETURNING position, event_id, attempts`;
const PUT_OFF = `
  INSERT INTO webhook_retries (webhook_id, position, event_id, attempts, due_at)
  SELECT $1, position, event_id, attempts, clock_timestamp() + make_interval(secs => pause)
  FROM jsonb_to_recordset($2::jsonb) AS r(position bigint, event_id uuid, attempts int, pause float8)
  ON CONFLICT (webhook_id, position) DO UPDATE SET attempts = excluded.attempts, due_at = excluded.due_at`;
// Not if someone requested the event in the meantime, or if it is being replayed.
const SETTLE = `
  DELETE FROM webhook_retries r USING jsonb_to_recordset($2::jsonb) AS d(position bigint, attempts int)
  WHERE r.webhook_id = $1 AND r.position = d.position AND r.attempts = d.attempts`;
const PUT_OFF_AGAIN = `
  UPDATE webhook_retries r SET attempts = f.next, due_at = clock_timestamp() + make_interval(secs => f.pause)
  FROM jsonb_to_recordset($2::jsonb) AS f(position bigint, attempts int, next int, pause float8)
  WHERE r.webhook_id = $1 AND r.position = f.position AND r.attempts = f.attempts`;

/**
 * Sends the events of one webhook. First attempts are made by the owner of the lease, which is the cursor's row: page
 * by page, started in order of position. Failures become retries in the transaction that moves the cursor, so each
 * event was either delivered or is among the retries. No transaction is open during a request.
 */
export class WebhookRunner {
  constructor(
    private readonly target: Target,
    private readonly source: DataSource,
    private readonly store: EventStore,
    private readonly requests: WebhookRequests,
    private readonly deliveries: Deliveries,
    private readonly expansions: WebhookExpansions,
    /** Whether no more events may be started. */
    private readonly isStopped: () => boolean,
  ) {}

  /** First attempts, until there are no more events or the turn is over. */
  async advance(): Promise<DeliveryOutcome> {
    const { webhookId } = this.target;
    const outcome = await withRowLease(this.source, CURSORS, webhookId, async (lease: RowLease<Cursor>) => {
      const { failingSince, restSeconds } = await this.advanceAs(lease);
      await lease.release(restSeconds);
      return { failingSince };
    });
    return outcome ?? { failingSince: undefined };
  }

  /** @returns `restSeconds`: how long no instance may make first attempts. */
  private async advanceAs({
    owner,
    row: { position, failing },
  }: RowLease<Cursor>): Promise<DeliveryOutcome & { restSeconds: number }> {
    const endAt = performance.now() + TURN_MS;
    let restSeconds = 0;
    let mostFailures = failing > AWAY_SECONDS ? 1 : FAILURES_IN_A_ROW;
    let before = Number(position);
    while (!this.isStopped() && performance.now() < endAt) {
      const webhook = await this.find();
      // Before the events are read, in a separate statement.
      const horizon = await this.store.horizon();
      if (!webhook || horizon <= before) break;
      const { events, hasMore } = await this.store.readHistory(
        this.target.organizationId,
        { after: before, upTo: horizon },
        PAGE,
        webhook.eventTypes ? { type: webhook.eventTypes } : {},
      );
      const { sent, next, failures } = await this.sendInOrder(webhook, events, mostFailures);
      // Events that were not started come with the next page.
      const reached = next ? next.position - 1 : hasMore ? events.at(-1)!.position : horizon;
      const { isMoved, failingSince } = await this.keep(owner, { before, reached }, sent);
      if (failingSince) return { failingSince, restSeconds };
      if (failures >= mostFailures) {
        restSeconds = Math.min(Math.max(failing, SHORTEST_REST_SECONDS), LONGEST_REST_SECONDS);
        break;
      }
      if (!isMoved || events.length === 0) break;
      mostFailures = FAILURES_IN_A_ROW;
      before = reached;
    }
    return { failingSince: undefined, restSeconds };
  }

  /** Retries what is due. Other instances leave claimed retries alone for longer than an attempt takes. */
  async retry(): Promise<DeliveryOutcome> {
    const endAt = performance.now() + TURN_MS;
    while (!this.isStopped() && performance.now() < endAt) {
      const webhook = await this.find();
      if (!webhook) break;
      const [due] = await this.source.query<[Retry[], number]>(TAKE_RETRIES, [
        this.target.webhookId,
        RETRIES,
        TAKEN_SECONDS,
      ]);
      const { isAnyDelivered, ...tellings } = await this.sendAgain(webhook, due);
      if (tellings.failingSince) return tellings;
      if (due.length < RETRIES || !isAnyDelivered) break;
    }
    return { failingSince: undefined };
  }

  private async sendAgain(
    webhook: ExistingWebhook,
    due: readonly Retry[],
  ): Promise<DeliveryOutcome & { isAnyDelivered: boolean }> {
    const { webhookId, organizationId } = this.target;
    const sent: Delivery[] = [];
    const unsent: Retry[] = [];
    await Promise.all(
      due.map(async (retry) => {
        const event = await this.store.findEvent(organizationId, retry.event_id);
        const [records] = event ? await this.recordsOf(webhook, [event]) : [];
        const attempt = event && (await this.send(webhook, event, records!));
        if (attempt) sent.push(deliveryOf(event, retry.attempts, attempt));
        else unsent.push(retry);
      }),
    );
    const rows = await this.deliveries.rowsOf(organizationId, sent);
    return inTransaction(this.source, LIMITS, async (transaction) => {
      const delivered = sent.filter(({ attempt }) => attempt.delivered);
      const settled = delivered.map(({ event, number }) => ({ position: event.position, attempts: number }));
      if (settled.length > 0) void transaction.send(SETTLE, [webhookId, JSON.stringify(settled)]);
      const putOff = [
        ...failuresAmong(sent).map((failure) => ({ ...failure, next: failure.attempts })),
        // Their outcome is unknown, so they count as not attempted.
        ...unsent.map(({ position, attempts }) => ({ position, attempts, next: attempts - 1, pause: 0 })),
      ];
      if (putOff.length > 0) void transaction.send(PUT_OFF_AGAIN, [webhookId, JSON.stringify(putOff)]);
      this.deliveries.keep(transaction, organizationId, webhookId, rows);
      return { isAnyDelivered: delivered.length > 0, ...(await this.noteHealth(transaction, sent)) };
    });
  }

  /** Undefined if the webhook is not active. */
  private async find(): Promise<ExistingWebhook | undefined> {
    const { webhookId, organizationId } = this.target;
    const [row] = await this.source.query<{ state: Webhook }[]>(
      `SELECT state FROM ${webhooks.table} WHERE organization_id = $1 AND id = $2`,
      [organizationId, webhookId],
    );
    return row?.state.status === 'ACTIVE' ? row.state : undefined;
  }

  /**
   * @param mostFailures consecutive failures after which no more events are started.
   * @returns `next`: the first event that was not started or whose outcome is unknown. `failures`: consecutive
   *   failures at the end.
   */
  private async sendInOrder(
    webhook: ExistingWebhook,
    events: readonly RecordedEvent[],
    mostFailures: number,
  ): Promise<{ sent: Delivery[]; next: RecordedEvent | undefined; failures: number }> {
    const atOnce = Math.min(AT_ONCE, mostFailures);
    const endAt = performance.now() + LONG_PAGE_MS;
    const records = await this.recordsOf(webhook, events);
    const sent: Delivery[] = [];
    const underWay = new Set<Promise<void>>();
    let failures = 0;
    let next: RecordedEvent | undefined;
    for (const [n, event] of events.entries()) {
      while (underWay.size >= atOnce) await Promise.race(underWay);
      if (next || failures >= mostFailures || this.isStopped() || performance.now() > endAt) {
        next ??= event;
        break;
      }
      const one = this.send(webhook, event, records[n]!).then((attempt) => {
        if (!attempt) {
          if (!next || event.position < next.position) next = event;
          return;
        }
        failures = attempt.delivered ? 0 : failures + 1;
        sent.push(deliveryOf(event, 1, attempt));
      });
      underWay.add(one);
      void one.finally(() => underWay.delete(one));
    }
    await Promise.all(underWay);
    return { sent, next, failures };
  }

  private recordsOf({ url }: ExistingWebhook, events: readonly RecordedEvent[]): Promise<ExpandedRecords[]> {
    return this.expansions.recordsOf(this.target, url, events);
  }

  private async send(
    webhook: ExistingWebhook,
    event: RecordedEvent,
    records: ExpandedRecords,
  ): Promise<Attempt | undefined> {
    const shown = webhook.personalData ? event : { ...event, personal: null };
    const body = JSON.stringify(webhookBody(shown, records));
    const attempt = await this.requests.send(this.target.webhookId, webhook, { id: event.eventId, body });
    // A response may repeat the records, which need other scopes than the list of deliveries.
    const hasRecords = Object.values(records).some((record) => record !== null);
    return attempt && hasRecords ? { ...attempt, answer: Buffer.alloc(0) } : attempt;
  }

  private async keep(
    holder: string,
    { before, reached }: { before: number; reached: number },
    sent: readonly Delivery[],
  ): Promise<DeliveryOutcome & { isMoved: boolean }> {
    const { webhookId, organizationId } = this.target;
    const rows = await this.deliveries.rowsOf(organizationId, sent);
    return inTransaction(this.source, LIMITS, async (transaction) => {
      const [, moved] = await transaction.query<[unknown, number]>(MOVE, [
        webhookId,
        holder,
        before,
        reached,
      ]);
      // Otherwise they are sent again.
      const failures = failuresAmong(sent).filter(({ position }) => moved > 0 && position <= reached);
      if (failures.length > 0) void transaction.send(PUT_OFF, [webhookId, JSON.stringify(failures)]);
      this.deliveries.keep(transaction, organizationId, webhookId, rows);
      return { isMoved: moved > 0, ...(await this.noteHealth(transaction, sent)) };
    });
  }

  private async noteHealth(transaction: Transaction, sent: readonly Delivery[]): Promise<DeliveryOutcome> {
    if (sent.length === 0) return { failingSince: undefined };
    const isWell = sent.at(-1)!.attempt.delivered;
    const isAnyWell = sent.some(({ attempt }) => attempt.delivered);
    type Health = { failing_since: Date | null; is_over: boolean | null; is_back: boolean | null };
    const { webhookId } = this.target;
    const [[row]] = await transaction.query<[Health[], number]>(NOTE_HEALTH, [webhookId, isWell, isAnyWell]);
    if (row?.is_back) void transaction.send(COME_SOON, [webhookId]);
    return { failingSince: row?.is_over ? row.failing_since! : undefined };
  }
}

function deliveryOf(event: RecordedEvent, number: number, attempt: Attempt): Delivery {
  const outcome = attempt.delivered ? 'DELIVERED' : number < MOST_ATTEMPTS ? 'FAILED' : 'PARKED';
  return { event, number, outcome, attempt };
}

function failuresAmong(sent: readonly Delivery[]) {
  return sent
    .filter(({ attempt }) => !attempt.delivered)
    .map(({ event, number }) => ({
      position: event.position,
      event_id: event.eventId,
      attempts: number,
      pause: pauseAfter(number),
    }));
}
