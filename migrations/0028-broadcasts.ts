import { type MigrationInterface, type QueryRunner } from 'typeorm';

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
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE broadcast_sendings, broadcast_recipients, broadcast_senders');
  }
}
