import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Where sealing stands, the trees of the organizations, and their roots at each block's end. */
export class Seals1764000000006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE sealing (
        single   boolean PRIMARY KEY DEFAULT true CHECK (single),
        position bigint  NOT NULL
      );
      INSERT INTO sealing (position) VALUES (0);

      CREATE TABLE seals (
        organization_id uuid           NOT NULL,
        size            bigint         NOT NULL,
        position        bigint         NOT NULL,
        root            bytea          NOT NULL,
        sealed_at       timestamptz(3) NOT NULL,
        PRIMARY KEY (organization_id, size)
      );

      CREATE TABLE seal_tiles (
        organization_id uuid     NOT NULL,
        level           smallint NOT NULL,
        index           bigint   NOT NULL,
        hashes          bytea    NOT NULL,
        positions       bigint[] NOT NULL,
        PRIMARY KEY (organization_id, level, index)
      );
      -- Hashes do not compress.
      ALTER TABLE seal_tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;
    `);
    // Writers wait while they are built, some seconds for a million events. Building them beside writers
    // (CONCURRENTLY) would wait for the instances that wait for this migration.
    await runner.query('CREATE INDEX events_of_organization ON events (organization_id, position)');
    await runner.query('CREATE INDEX events_by_id ON events (organization_id, event_id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DROP TABLE sealing, seals, seal_tiles; DROP INDEX events_of_organization, events_by_id',
    );
  }
}
