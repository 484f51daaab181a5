import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** What reacts to the history: how far each has come, what is to be tried again, and what is due at a time. */
export class Subscriptions1764000000022 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE subscriptions (
        name       text   PRIMARY KEY,
        position   bigint NOT NULL, -- every event up to here was handled, or stands among the retries
        holder     uuid,            -- who works on what comes next, until then or until it is done
        held_until timestamptz
      );

      CREATE TABLE subscription_retries (
        subscription    text        NOT NULL,
        position        bigint      NOT NULL,
        organization_id uuid        NOT NULL,
        stream_id       uuid        NOT NULL,
        attempts        int         NOT NULL, -- 0: it waits for an earlier one of its stream
        due_at          timestamptz,          -- null: parked
        parked_at       timestamptz,
        reason          text,
        PRIMARY KEY (subscription, position)
      );
      CREATE INDEX subscription_retries_due ON subscription_retries (subscription, due_at);
      CREATE INDEX subscription_retries_of_stream ON subscription_retries (subscription, stream_id, position);

      CREATE TABLE timers (
        timer           text        NOT NULL,
        id              uuid        NOT NULL,
        organization_id uuid        NOT NULL,
        due_at          timestamptz NOT NULL,
        next_at         timestamptz,          -- of the next attempt; null: there is none any more
        attempts        int         NOT NULL DEFAULT 0,
        reason          text,
        PRIMARY KEY (timer, id)
      );
      CREATE INDEX timers_due ON timers (next_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE subscriptions, subscription_retries, timers');
  }
}
