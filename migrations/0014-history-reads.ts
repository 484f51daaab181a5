import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** What API keys have read of the history in an hour, until it is told in an event; `positions` are those looked through. */
export class HistoryReads1764000000014 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE history_reads (
        organization_id uuid NOT NULL,
        api_key_id uuid NOT NULL,
        hour timestamp(3) with time zone NOT NULL,
        operation text NOT NULL,
        asked jsonb NOT NULL,
        positions int8multirange NOT NULL,
        times bigint NOT NULL DEFAULT 1,
        taken_at timestamp with time zone,
        PRIMARY KEY (organization_id, api_key_id, hour, operation, asked)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE history_reads');
  }
}
