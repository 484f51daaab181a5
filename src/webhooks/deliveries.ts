import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Transaction } from '#libs/database';
import { EventStore, isNotEnded, type RecordedEvent, sealValue } from '#libs/event-store';
import { newId } from '#libs/random';
import { type Attempt } from './webhook-requests.js';

/** PARKED: dead-lettered after the last retry. It is sent again only on request. */
export type DeliveryOutcome = 'DELIVERED' | 'FAILED' | 'PARKED';

/** An attempt to deliver an event. `number`: 1 for the first. */
export type Delivery = { event: RecordedEvent; number: number; outcome: DeliveryOutcome; attempt: Attempt };

/** The context under which responses are encrypted. */
export const ANSWER = 'webhook.answer';

const KEPT_DAYS = 30;
/** Rows per statement. */
const MAX_ROWS = 10_000;
const MAX_STATEMENTS = 1_000;

const KEEP = `
  INSERT INTO webhook_deliveries
    (id, organization_id, webhook_id, created_at, event_id, position, type, attempt, outcome, status_code, ms, reason, answer, subject_id)
  SELECT id, $1, $2, created_at, event_id, position, type, attempt, outcome, status_code, ms, reason, decode(answer, 'base64'), subject_id
  FROM jsonb_to_recordset($3::jsonb) AS d(id uuid, created_at timestamptz, event_id uuid, position bigint, type text,
    attempt int, outcome text, status_code int, ms int, reason text, answer text, subject_id uuid)`;

const FORGET = `
  DELETE FROM webhook_deliveries WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM webhook_deliveries
    WHERE created_at < clock_timestamp() - make_interval(days => ${KEPT_DAYS}) LIMIT ${MAX_ROWS}
  ))`;

/** The delivery attempts of the last 30 days. */
@Injectable()
export class Deliveries {
  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
  ) {}

  /**
   * Converts attempts to rows. A response may repeat personal data from the event, so it is encrypted with
   * the person's key and becomes unreadable with their erasure. For erased people, it is not stored.
   */
  async rowsOf(organizationId: string, deliveries: readonly Delivery[]): Promise<object[]> {
    const subjects = deliveries.flatMap(({ event, attempt }) =>
      event.subjectId !== null && attempt.answer.length > 0 ? [event.subjectId] : [],
    );
    const keys = await this.keysOf(organizationId, [...new Set(subjects)]);
    return deliveries.map(({ event, number, outcome, attempt }) => ({
      id: newId(),
      created_at: attempt.at,
      event_id: event.eventId,
      position: event.position,
      type: event.type,
      attempt: number,
      outcome,
      status_code: attempt.statusCode,
      ms: attempt.ms,
      reason: attempt.reason,
      answer: answerOf(event, attempt, keys)?.toString('base64') ?? null,
      subject_id: event.subjectId,
    }));
  }

  /** @param rows of `rowsOf`. */
  keep(transaction: Transaction, organizationId: string, webhookId: string, rows: readonly object[]): void {
    if (rows.length === 0) return;
    void transaction.send(KEEP, [organizationId, webhookId, JSON.stringify(rows)]);
  }

  /** Deletes expired attempts, up to a limited number of statements. */
  async forget(): Promise<void> {
    for (let n = 0, isWhole = true; isWhole && n < MAX_STATEMENTS; n += 1) {
      const [, count] = await this.source.query<[unknown, number]>(FORGET);
      isWhole = count === MAX_ROWS;
    }
  }

  private async keysOf(organizationId: string, subjectIds: readonly string[]): Promise<Map<string, Buffer>> {
    if (subjectIds.length === 0) return new Map();
    const rows = await this.source.query<{ subject_id: string; wrapped_key: Buffer }[]>(
      `SELECT subject_id, wrapped_key FROM subject_keys k
       WHERE organization_id = $1 AND subject_id = ANY ($2::uuid[]) AND ${isNotEnded('k')}`,
      [organizationId, subjectIds],
    );
    return new Map(
      rows.map(({ subject_id, wrapped_key }) => [
        subject_id,
        this.store.keyring.unwrap(wrapped_key, subject_id),
      ]),
    );
  }
}

function answerOf(
  { subjectId }: RecordedEvent,
  { answer }: Attempt,
  keys: ReadonlyMap<string, Buffer>,
): Buffer | undefined {
  // The response can contain any bytes. It is shown as text.
  const text = answer.toString('utf8').replaceAll('\0', '');
  if (text === '') return undefined;
  if (subjectId === null) return Buffer.from(text);
  const key = keys.get(subjectId);
  return key && sealValue(key, ANSWER, text);
}
