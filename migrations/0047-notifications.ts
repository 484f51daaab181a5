import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Which member got which notification, so that a retry does not send it again. */
export class Notifications1764000000047 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE notification_mails (
        organization_id uuid NOT NULL,
        notification text NOT NULL,
        matter text NOT NULL,
        member_id uuid NOT NULL,
        sent_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (organization_id, notification, matter, member_id)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE notification_mails');
  }
}
