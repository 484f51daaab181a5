import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** How far each projection has read the log; its row is also the lease of whoever advances it. */
export class Projections1764000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE checkpoints (
        projection      text        NOT NULL,
        version         integer     NOT NULL,
        position        bigint      NOT NULL DEFAULT 0,
        failed_position bigint,
        failure         text,
        failed_at       timestamptz,
        PRIMARY KEY (projection, version)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE checkpoints');
  }
}
