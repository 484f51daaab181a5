import { type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * The last signed note of each organization, so that only what follows from it is signed; and what finds the tile of a
 * position, and the last seal, however long a history is.
 *
 * Instances of the version before go on sealing, and know nothing of notes: see "Sealing" in ARCHITECTURE.md.
 */
export class SignedNotes1764000000015 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Whoever seals reads the one table and writes the other: with the lease first neither waits for the other in a circle.
    await runner.query('SELECT FROM sealing FOR UPDATE');
    await runner.query(/* sql */ `
      CREATE TABLE signed_notes (
        organization_id uuid PRIMARY KEY,
        note            text,            -- NULL: sealed by an earlier version, and not signed yet
        refused         text,            -- why nothing is sealed on top of the note
        refused_at      timestamptz(3),
        look_at         timestamptz      -- from then on it is looked at, also if it has no new event
      );
      CREATE INDEX signed_notes_to_look_at ON signed_notes (look_at)
        WHERE look_at IS NOT NULL OR refused IS NOT NULL;

      CREATE INDEX seal_tiles_by_position ON seal_tiles (organization_id, (positions[1])) WHERE level = 0;

      -- Handed out, or of an earlier version, which did not say: others make room for the next one of the day.
      ALTER TABLE seals ADD COLUMN kept boolean NOT NULL DEFAULT true;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DROP TABLE signed_notes; DROP INDEX seal_tiles_by_position; ALTER TABLE seals DROP COLUMN kept',
    );
  }
}
