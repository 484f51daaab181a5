import { type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * When keys were last used: operational data, not history. It follows from no events, and is lost without harm.
 * Rows are rewritten every few seconds; the free space keeps their versions on their pages, out of the index.
 */
export class ApiKeyUse1764000000005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE api_key_use (
        organization_id uuid           NOT NULL,
        api_key_id      uuid           NOT NULL,
        last_used_at    timestamptz(3) NOT NULL,
        PRIMARY KEY (organization_id, api_key_id)
      ) WITH (fillfactor = 50);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE api_key_use');
  }
}
