import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Which webhooks have something to send, so that those without cost nothing, however many there are. */
export class WebhookNews1764000000035 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      -- Up to where the log was looked through for organizations with news, of which each instance tells the cursors.
      CREATE TABLE webhook_news (position bigint NOT NULL);
      CREATE UNIQUE INDEX webhook_news_only_row ON webhook_news ((true));
      INSERT INTO webhook_news SELECT event_horizon();

      -- The last event of the organization, as far as it was looked through. Of those of before nobody knows: all are looked at once.
      ALTER TABLE webhook_cursors ADD COLUMN news bigint NOT NULL DEFAULT 0;
      UPDATE webhook_cursors SET news = (SELECT position FROM webhook_news);
      CREATE INDEX webhook_cursors_behind ON webhook_cursors (webhook_id) WHERE news > position;
      CREATE INDEX webhook_cursors_of_organization ON webhook_cursors (organization_id);
      CREATE INDEX webhook_retries_next ON webhook_retries (due_at) WHERE due_at IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DROP TABLE webhook_news; ALTER TABLE webhook_cursors DROP COLUMN news; DROP INDEX webhook_cursors_of_organization, webhook_retries_next',
    );
  }
}
