import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** The links of broadcasts that count clicks. */
export class BroadcastLinks1764000000045 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE broadcast_links (
        organization_id uuid     NOT NULL,
        broadcast_id    uuid     NOT NULL,
        n               smallint NOT NULL,
        url             text     NOT NULL,
        clicks          bigint   NOT NULL DEFAULT 0,
        PRIMARY KEY (broadcast_id, n)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE broadcast_links');
  }
}
