import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Transaction } from '#libs/database';
import { pauseAfter } from '#libs/work';
import { filterContactsBy } from '../contacts/index.js';
import { type BroadcastStatus, type Figures } from './broadcast.js';
import { broadcasts } from './broadcasts.js';
import { RECIPIENT_DETAILS } from './recipient-details.js';

export const RECIPIENT_STATUSES = ['PENDING', 'CLAIMED', 'SENT', 'FAILED', 'SKIPPED', 'IN_DOUBT'] as const;
export type RecipientStatus = (typeof RECIPIENT_STATUSES)[number];

/**
 * A message that this process has claimed, so that no other sends it. `attempts` counts temporary rejections and lost
 * connections.
 */
export type Claimed = { sendingId: string; contactId: string; attempts: number };

/** The outcome of a claimed message. `pauseSeconds`: the time until a retry. */
export type Settled = {
  sendingId: string;
  contactId: string;
  status: Exclude<RecipientStatus, 'CLAIMED'>;
  detail: string | null;
  attempts: number;
  pauseSeconds: number;
};

/** A broadcast with unsettled recipients. */
export type Sending = {
  id: string;
  organizationId: string;
  broadcastId: string;
  /** Undefined if the broadcast no longer exists, or was not started with these recipients. */
  status: BroadcastStatus | undefined;
  hasPending: boolean;
  hasClaimed: boolean;
};

export type SendingFigures = Figures & {
  total: number;
  bounced: number;
  complained: number;
  unsubscribed: number;
  waitsFor: string | null;
};

/** A recipient as the API returns it. */
export type RecipientRecord = {
  contactId: string;
  status: RecipientStatus;
  at: Date | null;
  detail: string | null;
};

/** Reports that may arrive after a message was sent. */
export type LateReport = 'bounced' | 'complained' | 'unsubscribed';

/** A process that has not renewed its heartbeat for this long counts as dead. */
export const ALIVE_SECONDS = 8;
/** Recipients of a cancelled broadcast to settle per statement. */
const PAGE = 10_000;
const FORGET_AFTER = '1 hour';

/** Statuses that are counted on the sending, and how much each count changes. */
const COUNTED = ['SENT', 'FAILED', 'SKIPPED', 'IN_DOUBT'] as const;
const MORE = COUNTED.map(
  (status) => `${status.toLowerCase()} = s.${status.toLowerCase()} + c.${status.toLowerCase()}`,
).join(', ');
const DIFFERENCES = COUNTED.map(
  (status) =>
    `count(*) FILTER (WHERE after = '${status}') - count(*) FILTER (WHERE before = '${status}') AS ${status.toLowerCase()}`,
).join(', ');

/**
 * SQL: updates the counters by the changes of the preceding query, which returns `sending_id`, `before` and `after`.
 *
 * @param options.more also sets these columns, because a statement can change a row only once. `where` restricts the
 *   sendings.
 */
const countBy = (changes: string, { more = '', where = '' } = {}) => `
  UPDATE broadcast_sendings s SET ${MORE}${more}
  FROM (SELECT sending_id, ${DIFFERENCES} FROM ${changes} GROUP BY sending_id) c
  WHERE s.id = c.sending_id${where}`;

/**
 * SQL: whether a sending has a recipient that is waiting or claimed. Ordered by a partial index: with EXISTS,
 * PostgreSQL reads all rows if its statistics say that there are few.
 */
const has = (status: 'PENDING' | 'CLAIMED', sendingId: string) => `(
  SELECT true FROM broadcast_recipients r WHERE r.sending_id = ${sendingId} AND r.status = '${status}'
  ORDER BY ${status === 'PENDING' ? 'r.due_at' : 'r.holder'} LIMIT 1
) IS NOT NULL`;
const hasUnsettled = (sendingId: string) => `(${has('PENDING', sendingId)} OR ${has('CLAIMED', sendingId)})`;

/** The broadcast that was started with these recipients, for a sending `s`. */
const ITS_BROADCAST = `LEFT JOIN ${broadcasts.table} b ON b.organization_id = s.organization_id AND b.id = s.broadcast_id
  AND b.state->>'sendingId' = s.id::text`;

/** SQL: whether anything must be sent, ended, or released from a process that may have died. */
export const HAS_WORK = `EXISTS (
  SELECT FROM broadcast_sendings s ${ITS_BROADCAST}
  WHERE NOT s.is_over AND (b.status IN ('SENDING', 'SENT', 'CANCELLED') OR ${has('CLAIMED', 's.id')})
)`;

/**
 * SQL of a row for metrics: recipients waiting, recipients in doubt, and for how many seconds the oldest is overdue.
 * Limited to a thousand sendings: open ones, and the newest for those in doubt.
 */
export const BROADCAST_BACKLOG = `
  WITH open AS (SELECT * FROM broadcast_sendings WHERE NOT is_over LIMIT 1000)
  SELECT
    (SELECT coalesce(sum(total - sent - failed - skipped - in_doubt), 0) FROM open) AS "recipientsWaiting",
    (SELECT coalesce(sum(in_doubt), 0) FROM (SELECT in_doubt FROM broadcast_sendings ORDER BY id DESC LIMIT 1000) AS newest)
      AS "recipientsInDoubt",
    (SELECT coalesce(max(greatest(0, extract(epoch FROM clock_timestamp() - greatest(r.due_at, s.created_at)))), 0)
     FROM open s ${ITS_BROADCAST}
     CROSS JOIN LATERAL (
       SELECT due_at FROM broadcast_recipients WHERE sending_id = s.id AND status = 'PENDING' ORDER BY due_at LIMIT 1
     ) AS r
     WHERE b.status = 'SENDING') AS "recipientSeconds"`;

/** One statement, so that a message costs only one additional round trip and commit. */
const SETTLE_AND_CLAIM = `
  SELECT sending_id AS "sendingId", contact_id AS "contactId", attempts
  FROM settle_and_claim_recipients($1, $2, (
    SELECT coalesce(jsonb_agg(w), '[]') FROM jsonb_to_recordset($3::jsonb) AS w("sendingId" uuid, count int)
    WHERE EXISTS (
      SELECT FROM broadcast_sendings s
      JOIN ${broadcasts.table} b ON b.organization_id = s.organization_id AND b.id = s.broadcast_id
      WHERE s.id = w."sendingId" AND b.status = 'SENDING'
    )
  ))`;

/**
 * Filters of contacts by the broadcasts that were sent to them. Recipients are not part of the history and are deleted
 * after `BROADCAST_RECIPIENT_DAYS`; from then on, the condition matches no one.
 */
filterContactsBy('received', {
  resource: broadcasts,
  members: (id, from) => `
    SELECT r.contact_id AS member_id
    FROM broadcast_sendings s JOIN broadcast_recipients r ON r.sending_id = s.id
    WHERE s.organization_id = $1 AND s.broadcast_id = ${id} AND r.status = 'SENT'
      ${from === undefined ? '' : `AND r.at >= ${from}`}`,
});

/** The recipients of broadcasts: waiting, sent, or in doubt. */
@Injectable()
export class Recipients {
  constructor(private readonly source: DataSource) {}

  /** Adds recipients of a broadcast that is about to start. Call it page by page in one transaction. */
  async fix(
    transaction: Transaction,
    sendingId: string,
    organizationId: string,
    broadcastId: string,
    contactIds: readonly string[],
  ): Promise<void> {
    await transaction.query(
      `WITH sending AS (
         INSERT INTO broadcast_sendings AS s (id, organization_id, broadcast_id, total)
         VALUES ($1, $2, $3, cardinality($4::uuid[]))
         ON CONFLICT (id) DO UPDATE SET total = s.total + excluded.total
       )
       INSERT INTO broadcast_recipients (sending_id, contact_id) SELECT $1, unnest($4::uuid[])`,
      [sendingId, organizationId, broadcastId, contactIds],
    );
  }

  /** Sendings that are not over. */
  async open(): Promise<Sending[]> {
    return this.source.query<Sending[]>(
      `SELECT s.id, s.organization_id AS "organizationId", s.broadcast_id AS "broadcastId", b.status,
         ${has('PENDING', 's.id')} AS "hasPending", ${has('CLAIMED', 's.id')} AS "hasClaimed"
       FROM broadcast_sendings s ${ITS_BROADCAST}
       WHERE NOT s.is_over`,
    );
  }

  /**
   * Stores outcomes and claims more messages. Claims are committed before the messages are sent.
   *
   * @param wanted the maximum number per sending.
   */
  async settleAndClaim(
    holder: string,
    settled: readonly Settled[],
    wanted: readonly { sendingId: string; count: number }[],
  ): Promise<Claimed[]> {
    const values = [holder, JSON.stringify(settled), JSON.stringify(wanted)];
    return this.source.query<Claimed[]>(SETTLE_AND_CLAIM, values);
  }

  /**
   * Releases claims that this process does not know of because the response was lost. Their messages were
   * never sent.
   */
  async releaseUnknown(holder: string, known: readonly Claimed[]): Promise<void> {
    await this.source.query(
      `UPDATE broadcast_recipients SET status = 'PENDING', holder = NULL
       WHERE status = 'CLAIMED' AND holder = $1
         AND sending_id IN (SELECT id FROM broadcast_sendings WHERE NOT is_over)
         AND (sending_id, contact_id) NOT IN (SELECT * FROM unnest($2::uuid[], $3::uuid[]))`,
      [holder, known.map(({ sendingId }) => sendingId), known.map(({ contactId }) => contactId)],
    );
  }

  async sayAlive(holder: string): Promise<void> {
    await this.source.query(
      `INSERT INTO broadcast_senders (holder, alive_until)
       VALUES ($1, clock_timestamp() + make_interval(secs => $2))
       ON CONFLICT (holder) DO UPDATE SET alive_until = excluded.alive_until`,
      [holder, ALIVE_SECONDS],
    );
  }

  /** Removes a process that has settled all its claims. */
  async leave(holder: string): Promise<void> {
    await this.source.query('DELETE FROM broadcast_senders WHERE holder = $1', [holder]);
  }

  /**
   * Marks the claims of dead processes as in doubt, because the messages may have been sent.
   *
   * @returns their number, by broadcast and process.
   */
  reapDeadSenders(
    sendingIds: readonly string[],
  ): Promise<{ broadcastId: string; organizationId: string; holder: string; messages: number }[]> {
    return this.source.query(
      `WITH doubted AS (
         UPDATE broadcast_recipients r
         SET status = 'IN_DOUBT', detail = '${RECIPIENT_DETAILS.died}',
           at = clock_timestamp()
         WHERE r.sending_id = ANY ($1::uuid[]) AND r.status = 'CLAIMED' AND NOT EXISTS (
           SELECT FROM broadcast_senders a WHERE a.holder = r.holder AND a.alive_until >= clock_timestamp()
         )
         RETURNING r.sending_id, r.holder, 'CLAIMED' AS before, r.status AS after
       ), counted AS (${countBy('doubted')})
       SELECT s.broadcast_id AS "broadcastId", s.organization_id AS "organizationId", d.holder, count(*)::int AS messages
       FROM doubted d JOIN broadcast_sendings s ON s.id = d.sending_id GROUP BY 1, 2, 3`,
      [sendingIds],
    );
  }

  /** Skips the remaining recipients of a cancelled broadcast. @returns whether none are left. */
  async skipPending(sendingId: string): Promise<boolean> {
    const [row] = await this.source.query<{ count: number }[]>(
      `WITH skipped AS (
         UPDATE broadcast_recipients r
         SET status = 'SKIPPED', detail = '${RECIPIENT_DETAILS.cancelled}', at = clock_timestamp()
         WHERE (r.sending_id, r.contact_id) IN (
           SELECT sending_id, contact_id FROM broadcast_recipients
           WHERE sending_id = $1 AND status = 'PENDING' LIMIT ${PAGE} FOR UPDATE SKIP LOCKED
         )
         RETURNING r.sending_id, 'PENDING' AS before, r.status AS after
       ), counted AS (${countBy('skipped')})
       SELECT count(*)::int AS count FROM skipped`,
      [sendingId],
    );
    return row!.count < PAGE;
  }

  /** Sends again to all recipients with this status. @returns their number. */
  async retry(organizationId: string, sendingId: string, status: 'FAILED' | 'IN_DOUBT'): Promise<number> {
    const [row] = await this.source.query<{ count: number }[]>(
      `WITH retried AS (
         UPDATE broadcast_recipients r
         SET status = 'PENDING', detail = NULL, attempts = 0, due_at = '-infinity', holder = NULL
         WHERE r.sending_id = $1 AND r.status = $2
         RETURNING r.sending_id, $2 AS before, r.status AS after
       ), counted AS (${countBy('retried', { more: ', is_over = false', where: ' AND s.organization_id = $3' })})
       SELECT count(*)::int AS count FROM retried`,
      [sendingId, status, organizationId],
    );
    return row!.count;
  }

  async hasUnsettled(sendingId: string): Promise<boolean> {
    const [row] = await this.source.query<{ has: boolean }[]>(`SELECT ${hasUnsettled('$1')} AS has`, [
      sendingId,
    ]);
    return row!.has;
  }

  /** Closes a sending when all its recipients are settled, so that no process checks it any more. */
  async close(sendingId: string): Promise<void> {
    await this.source.query(
      `UPDATE broadcast_sendings s SET is_over = true, waits_for = NULL
       WHERE s.id = $1 AND NOT ${hasUnsettled('s.id')}`,
      [sendingId],
    );
  }

  /** @param waitsFor why nothing can be sent, or null if it can. */
  async noteWaiting(sendingIds: readonly string[], waitsFor: string | null): Promise<void> {
    await this.source.query(
      `UPDATE broadcast_sendings SET waits_for = $2 WHERE id = ANY ($1::uuid[]) AND waits_for IS DISTINCT FROM $2`,
      [sendingIds, waitsFor],
    );
  }

  async figures(
    organizationId: string,
    sendingIds: readonly string[],
  ): Promise<ReadonlyMap<string, SendingFigures>> {
    if (sendingIds.length === 0) return new Map();
    const rows = await this.source.query<({ id: string } & SendingFigures)[]>(
      `SELECT id, total, sent, failed, skipped, in_doubt AS "inDoubt", bounced, complained, unsubscribed,
         waits_for AS "waitsFor"
       FROM broadcast_sendings WHERE organization_id = $2 AND id = ANY ($1::uuid[])`,
      [sendingIds, organizationId],
    );
    return new Map(rows.map(({ id, ...figures }) => [id, figures]));
  }

  /** Recipients in order of their contact ids. */
  async page(
    sendingId: string,
    { status, after, limit }: { status: string | undefined; after: string | undefined; limit: number },
  ): Promise<RecipientRecord[]> {
    return this.source.query<RecipientRecord[]>(
      `SELECT contact_id AS "contactId", status, at, detail FROM broadcast_recipients
       WHERE sending_id = $1 AND ($2::text IS NULL OR status = $2) AND ($3::uuid IS NULL OR contact_id > $3)
       ORDER BY contact_id LIMIT $4`,
      [sendingId, status ?? null, after ?? null, limit],
    );
  }

  /** The recipients of the broadcast among these contacts. @param status undefined for all. */
  async among(
    organizationId: string,
    broadcastId: string,
    contactIds: readonly string[],
    status: string | undefined,
  ): Promise<RecipientRecord[]> {
    return this.source.query<RecipientRecord[]>(
      `SELECT DISTINCT ON (r.contact_id) r.contact_id AS "contactId", r.status, r.at, r.detail
       FROM broadcast_sendings s JOIN broadcast_recipients r ON r.sending_id = s.id
       WHERE s.organization_id = $1 AND s.broadcast_id = $2 AND r.contact_id = ANY ($3::uuid[])
         AND ($4::text IS NULL OR r.status = $4)
       ORDER BY r.contact_id, s.created_at DESC`,
      [organizationId, broadcastId, contactIds, status ?? null],
    );
  }

  /** Records what happened after a message was sent, once. Does nothing if the message does not exist. */
  async recordLateReport(
    organizationId: string,
    broadcastId: string,
    contactId: string,
    what: LateReport,
  ): Promise<void> {
    await this.source.query(
      `WITH noted AS (
         UPDATE broadcast_recipients r SET ${what}_at = clock_timestamp()
         FROM broadcast_sendings s
         WHERE s.organization_id = $3 AND s.broadcast_id = $1 AND r.sending_id = s.id AND r.contact_id = $2
           AND r.${what}_at IS NULL
         RETURNING r.sending_id
       )
       UPDATE broadcast_sendings s SET ${what} = ${what} + 1 FROM noted
       WHERE s.organization_id = $3 AND s.id = noted.sending_id`,
      [broadcastId, contactId, organizationId],
    );
  }

  /** Whether the recipients were deleted by {@link deleteOld}. */
  async areDeleted(organizationId: string, sendingId: string): Promise<boolean> {
    const [row] = await this.source.query<{ are: boolean }[]>(
      `SELECT EXISTS (SELECT FROM broadcast_sendings WHERE id = $1 AND organization_id = $2 AND total > 0)
         AND NOT EXISTS (SELECT FROM broadcast_recipients WHERE sending_id = $1) AS are`,
      [sendingId, organizationId],
    );
    return row!.are;
  }

  /**
   * Deletes some recipients of broadcasts that started at least this many days ago and are over. @returns whether
   * there may be more.
   */
  async deleteOld(days: number): Promise<boolean> {
    const [row] = await this.source.query<{ count: number }[]>(
      `WITH old AS (
         SELECT r.sending_id, r.contact_id
         FROM broadcast_sendings s JOIN broadcast_recipients r ON r.sending_id = s.id
         WHERE s.is_over AND s.created_at < clock_timestamp() - make_interval(days => $1)
         LIMIT ${PAGE} FOR UPDATE OF r SKIP LOCKED
       ), deleted AS (
         DELETE FROM broadcast_recipients r USING old
         WHERE r.sending_id = old.sending_id AND r.contact_id = old.contact_id
           -- A user may have retried them since.
           AND r.status NOT IN ('PENDING', 'CLAIMED')
         RETURNING 1
       )
       SELECT count(*)::int AS count FROM deleted`,
      [days],
    );
    return row!.count === PAGE;
  }

  /** Deletes recipients of broadcasts that no longer exist or were never started with them, and processes that died. */
  async forget(): Promise<void> {
    await this.source.query(
      `WITH gone AS (
         DELETE FROM broadcast_sendings s
         WHERE s.created_at < clock_timestamp() - interval '${FORGET_AFTER}' AND NOT EXISTS (
           SELECT FROM ${broadcasts.table} b
           WHERE b.organization_id = s.organization_id AND b.id = s.broadcast_id AND b.state->>'sendingId' = s.id::text
         ) RETURNING s.id
       )
       DELETE FROM broadcast_recipients r USING gone WHERE r.sending_id = gone.id`,
    );
    await this.source.query(
      `DELETE FROM broadcast_senders WHERE alive_until < clock_timestamp() - interval '${FORGET_AFTER}'`,
    );
  }
}

/** The outcome of a temporary rejection or a lost connection: a retry after a pause, or a failure. */
export function later({ sendingId, contactId, attempts }: Claimed, detail: string): Settled {
  const failed = attempts + 1;
  const pauseSeconds = pauseAfter(failed);
  const status = pauseSeconds === null ? 'FAILED' : 'PENDING';
  return { sendingId, contactId, status, detail, attempts: failed, pauseSeconds: pauseSeconds ?? 0 };
}
