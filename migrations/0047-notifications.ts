import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Which member gets which notification: whoever claims the row sends it, so that two attempts do not both send it. */
export class Notifications1764000000047 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE notification_mails (
        organization_id uuid        NOT NULL,
        notification    text        NOT NULL,
        matter          text        NOT NULL,
        member_id       uuid        NOT NULL,
        claimed_until   timestamptz NOT NULL,
        refusals        int         NOT NULL DEFAULT 0,
        settled_at      timestamptz,                      -- when it was sent, or given up; null: neither yet
        PRIMARY KEY (organization_id, notification, matter, member_id)
      )
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE notification_mails');
  }
}
