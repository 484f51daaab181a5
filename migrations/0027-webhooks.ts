import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Webhooks: how far each has come, what is to be sent again, and what became of each attempt of the last 30 days. */
export class Webhooks1764000000027 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE webhook_cursors (
        webhook_id      uuid   PRIMARY KEY,
        organization_id uuid   NOT NULL,
        position        bigint NOT NULL, -- every event up to here was sent, or stands among the retries
        told            bigint NOT NULL, -- of the last event of the webhook itself that this row went by
        failing_since   timestamptz,     -- since then no attempt has succeeded; null: the last one has
        holder          uuid,            -- who sends what comes next, until then or until it is done
        held_until      timestamptz
      );

      CREATE TABLE webhook_retries (
        webhook_id uuid   NOT NULL,
        position   bigint NOT NULL,
        event_id   uuid   NOT NULL,
        attempts   int    NOT NULL, -- 0: somebody has asked for it
        due_at     timestamptz,     -- null: parked
        PRIMARY KEY (webhook_id, position)
      );
      CREATE INDEX webhook_retries_due ON webhook_retries (webhook_id, due_at);

      CREATE TABLE webhook_deliveries (
        id              uuid           NOT NULL,
        organization_id uuid           NOT NULL,
        webhook_id      uuid           NOT NULL,
        created_at      timestamptz(3) NOT NULL,
        event_id        uuid           NOT NULL,
        position        bigint         NOT NULL,
        type            text           NOT NULL,
        attempt         int            NOT NULL,
        outcome         text           NOT NULL,
        status_code     int,
        ms              int            NOT NULL,
        reason          text,
        -- The beginning of the answer: of an event about a person sealed with the key of that person.
        answer          bytea,
        subject_id      uuid,
        PRIMARY KEY (organization_id, webhook_id, created_at, id)
      );
      CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE webhook_cursors, webhook_retries, webhook_deliveries');
  }
}
