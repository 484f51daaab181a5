import { type MigrationInterface, type QueryRunner } from 'typeorm';

// A connection plans it once, and rows are looked up one by one, by their keys: planned for each call, with the recipients as
// few as they were when they were last counted, they were all read for each message.
const PLANS =
  'SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off';

/** Who gets a broadcast, and what has become of it: operational data, beside the history that says who had to get it. */
export class Broadcasts1764000000028 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE broadcast_sendings (
        id              uuid        PRIMARY KEY,
        organization_id uuid        NOT NULL,
        broadcast_id    uuid        NOT NULL,
        created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
        is_over         boolean     NOT NULL DEFAULT false,
        waits_for       text,                               -- why nothing can be sent at the moment
        total           int         NOT NULL DEFAULT 0,
        sent            int         NOT NULL DEFAULT 0,     -- recipients by their status
        failed          int         NOT NULL DEFAULT 0,
        skipped         int         NOT NULL DEFAULT 0,
        in_doubt        int         NOT NULL DEFAULT 0,
        bounced         int         NOT NULL DEFAULT 0,     -- and what came of those who got it
        complained      int         NOT NULL DEFAULT 0,
        unsubscribed    int         NOT NULL DEFAULT 0
      );
      CREATE INDEX broadcast_sendings_open ON broadcast_sendings (id) WHERE NOT is_over;
      CREATE INDEX broadcast_sendings_of_broadcast ON broadcast_sendings (broadcast_id);

      CREATE TABLE broadcast_recipients (
        sending_id      uuid        NOT NULL,
        contact_id      uuid        NOT NULL,
        status          text        NOT NULL DEFAULT 'PENDING', -- CLAIMED, SENT, FAILED, SKIPPED, IN_DOUBT
        attempts        int         NOT NULL DEFAULT 0,         -- that the mail server answered with "later"
        due_at          timestamptz NOT NULL DEFAULT '-infinity',
        holder          uuid,                                   -- the process that claimed it last
        at              timestamptz,
        detail          text,
        bounced_at      timestamptz,
        complained_at   timestamptz,
        unsubscribed_at timestamptz,
        PRIMARY KEY (sending_id, contact_id)
      );
      CREATE INDEX broadcast_recipients_pending ON broadcast_recipients (sending_id, due_at) WHERE status = 'PENDING';
      CREATE INDEX broadcast_recipients_claimed ON broadcast_recipients (sending_id, holder) WHERE status = 'CLAIMED';
      CREATE INDEX broadcast_recipients_by_status ON broadcast_recipients (sending_id, status, contact_id)
        WHERE status IN ('FAILED', 'SKIPPED', 'IN_DOUBT');

      -- A process that sends says so every few seconds: what it had claimed is in doubt once it does not.
      CREATE TABLE broadcast_senders (
        holder      uuid        PRIMARY KEY,
        alive_until timestamptz NOT NULL
      );

      -- Notes what became of messages that a process had claimed (sendingId, contactId, status, detail, attempts, pauseSeconds),
      -- and claims others for it, of each sending so many (sendingId, count). What others have taken for in doubt stays so where it
      -- has not left: its broadcast may be over.
      CREATE FUNCTION settle_and_claim_recipients(by uuid, outcomes jsonb, wanted jsonb)
        RETURNS TABLE (sending_id uuid, contact_id uuid, attempts int)
        LANGUAGE plpgsql ${PLANS} AS $$
        #variable_conflict use_column
        BEGIN
          IF jsonb_array_length(outcomes) > 0 THEN
            WITH outcome AS (
              SELECT o."sendingId", o."contactId", o.detail, o.attempts, o."pauseSeconds", r.before,
                CASE WHEN r.before = 'IN_DOUBT' AND o.status = 'PENDING' THEN r.before ELSE o.status END AS status
              FROM jsonb_to_recordset(outcomes) AS o("sendingId" uuid, "contactId" uuid, status text, detail text, attempts int,
                                                     "pauseSeconds" float8)
              CROSS JOIN LATERAL (
                SELECT r.status AS before FROM broadcast_recipients r
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

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION settle_and_claim_recipients');
    await runner.query('DROP TABLE broadcast_sendings, broadcast_recipients, broadcast_senders');
  }
}
