import { type MigrationInterface, type QueryRunner } from 'typeorm';

// As 0028 has them.
const PLANS =
  'SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off';

const SIGNATURE = 'settle_and_claim_recipients(by uuid, outcomes jsonb, wanted jsonb)';

/** A recipient in doubt of whom the process that was taken for dead knows that nothing was sent waits again. */
export class DoubtsReturned1764000000034 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      -- Notes what became of messages that a process had claimed (sendingId, contactId, status, detail, attempts, pauseSeconds),
      -- and claims others for it, of each sending so many (sendingId, count). What others have taken for in doubt waits again where it
      -- surely was not sent, as long as its broadcast cannot end meanwhile; otherwise it stays in doubt, with its reason.
      CREATE OR REPLACE FUNCTION ${SIGNATURE}
        RETURNS TABLE (sending_id uuid, contact_id uuid, attempts int)
        LANGUAGE plpgsql ${PLANS} AS $$
        #variable_conflict use_column
        DECLARE
          doubted uuid[];
          going uuid[];
        BEGIN
          IF jsonb_array_length(outcomes) > 0 THEN
            -- Recipients before sendings, as everywhere.
            SELECT array_agg(DISTINCT l.sending_id) INTO doubted FROM (
              SELECT r.sending_id
              FROM jsonb_to_recordset(outcomes) AS o("sendingId" uuid, "contactId" uuid, status text)
              CROSS JOIN LATERAL (
                SELECT r.sending_id FROM broadcast_recipients r
                WHERE r.sending_id = o."sendingId" AND r.contact_id = o."contactId"
                  AND r.holder = by AND r.status = 'IN_DOUBT' FOR UPDATE
              ) r
              WHERE o.status = 'PENDING'
            ) l;
            IF doubted IS NOT NULL THEN
              -- Whoever settles the last of the others has to wait for this row, and the broadcast for them.
              PERFORM FROM broadcast_sendings s WHERE s.id = ANY (doubted) ORDER BY s.id FOR UPDATE;
              SELECT array_agg(s.id) INTO going FROM broadcast_sendings s
              WHERE s.id = ANY (doubted) AND NOT s.is_over AND (
                (SELECT true FROM broadcast_recipients r WHERE r.sending_id = s.id AND r.status = 'PENDING'
                 ORDER BY r.due_at LIMIT 1) IS NOT NULL
                OR (SELECT true FROM broadcast_recipients r WHERE r.sending_id = s.id AND r.status = 'CLAIMED'
                    ORDER BY r.holder LIMIT 1) IS NOT NULL
              );
            END IF;
            WITH outcome AS (
              SELECT o."sendingId", o."contactId", o.attempts, o."pauseSeconds", r.before,
                CASE WHEN r.stays THEN r.before ELSE o.status END AS status,
                CASE WHEN r.stays THEN r.detail ELSE o.detail END AS detail
              FROM jsonb_to_recordset(outcomes) AS o("sendingId" uuid, "contactId" uuid, status text, detail text, attempts int,
                                                     "pauseSeconds" float8)
              CROSS JOIN LATERAL (
                SELECT r.status AS before, r.detail,
                  r.status = 'IN_DOUBT' AND o.status = 'PENDING' AND NOT coalesce(r.sending_id = ANY (going), false) AS stays
                FROM broadcast_recipients r
                WHERE r.sending_id = o."sendingId" AND r.contact_id = o."contactId"
                  AND r.holder = by AND r.status IN ('CLAIMED', 'IN_DOUBT') FOR UPDATE
              ) r
            ), settled AS (
              UPDATE broadcast_recipients r
              SET status = o.status, detail = o.detail, attempts = o.attempts, at = clock_timestamp(), holder = NULL,
                due_at = clock_timestamp() + make_interval(secs => o."pauseSeconds")
              FROM outcome o WHERE r.sending_id = o."sendingId" AND r.contact_id = o."contactId"
              RETURNING r.sending_id, o.before, r.status AS after
            )
            UPDATE broadcast_sendings s
            SET sent = s.sent + c.sent, failed = s.failed + c.failed, skipped = s.skipped + c.skipped,
              in_doubt = s.in_doubt + c.in_doubt
            FROM (
              SELECT settled.sending_id,
                sum((after = 'SENT')::int - (before = 'SENT')::int) AS sent,
                sum((after = 'FAILED')::int - (before = 'FAILED')::int) AS failed,
                sum((after = 'SKIPPED')::int - (before = 'SKIPPED')::int) AS skipped,
                sum((after = 'IN_DOUBT')::int - (before = 'IN_DOUBT')::int) AS in_doubt
              FROM settled GROUP BY settled.sending_id
            ) c
            WHERE s.id = c.sending_id;
          END IF;
          RETURN QUERY
            WITH next AS (
              SELECT n.sending_id, n.contact_id
              FROM jsonb_to_recordset(wanted) AS w("sendingId" uuid, count int)
              CROSS JOIN LATERAL (
                SELECT r.sending_id, r.contact_id FROM broadcast_recipients r
                WHERE r.sending_id = w."sendingId" AND r.status = 'PENDING' AND r.due_at <= clock_timestamp()
                ORDER BY r.due_at LIMIT w.count FOR UPDATE SKIP LOCKED
              ) n
            )
            UPDATE broadcast_recipients r SET status = 'CLAIMED', holder = by, at = clock_timestamp()
            FROM next n WHERE r.sending_id = n.sending_id AND r.contact_id = n.contact_id
            RETURNING r.sending_id, r.contact_id, r.attempts;
        END $$;
    `);
  }

  /** Only text of a function: that of before left more in doubt, and nothing else. */
  down(): Promise<void> {
    return Promise.resolve();
  }
}
