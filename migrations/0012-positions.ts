import { type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * Positions are those of the sequence, from 1 on. An event at another one would be folded into its record, and no reader
 * of the log, seal or export would ever come to it.
 *
 * Where one stands already, somebody put it there: the database is upgraded all the same, and verification names the event.
 */
export class Positions1764000000012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE events ADD CONSTRAINT events_from_1 CHECK (position > 0) NOT VALID');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE events DROP CONSTRAINT events_from_1');
  }
}

/** In a transaction of its own: the history is read once, and nobody waits for that. */
export class PositionsValid1764000000012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      DO $$ BEGIN
        IF NOT EXISTS (SELECT FROM events WHERE position < 1) THEN
          ALTER TABLE events VALIDATE CONSTRAINT events_from_1;
        END IF;
      END $$`);
  }

  async down(): Promise<void> {
    // Nothing to take back.
  }
}
