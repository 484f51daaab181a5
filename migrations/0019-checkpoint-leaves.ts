import { type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * The log of the checkpoints of all organizations: a leaf is what a signed note says of one. Its tree and its note stand in
 * the tables of all others, under the id that is all zeros.
 *
 * Instances of the version before go on sealing: what they seal has its leaf once a newer one has signed it.
 */
export class CheckpointLeaves1764000000019 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Whoever seals reads the one table and writes the other: with the lease first neither waits for the other in a circle.
    await runner.query('SELECT FROM sealing FOR UPDATE');
    await runner.query(/* sql */ `
      CREATE TABLE checkpoint_leaves (
        position        bigint PRIMARY KEY, -- 1, 2, … in the log
        organization_id uuid   NOT NULL,
        size            bigint NOT NULL,
        root            bytea  NOT NULL,
        UNIQUE (organization_id, size)
      );
      ALTER TABLE signed_notes ADD COLUMN logged boolean NOT NULL DEFAULT false;
      CREATE INDEX signed_notes_to_log ON signed_notes (organization_id)
        WHERE NOT logged AND note IS NOT NULL AND refused IS NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE checkpoint_leaves; ALTER TABLE signed_notes DROP COLUMN logged');
  }
}
