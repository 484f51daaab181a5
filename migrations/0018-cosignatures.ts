import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** What witnesses have cosigned of each organization, which of them contradict its history, and which instance asks them. */
export class Cosignatures1764000000018 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE cosigned_notes (
        organization_id uuid NOT NULL,
        size         bigint NOT NULL,
        note         text NOT NULL,               -- as we signed it
        cosignatures text NOT NULL DEFAULT '',    -- signature lines of witnesses
        keys         text[] NOT NULL DEFAULT '{}', -- name and id of the keys that they are of
        asked_at     timestamptz NOT NULL,
        repeats      integer NOT NULL DEFAULT 0,  -- how often witnesses were asked for it again
        PRIMARY KEY (organization_id, size)
      );
      CREATE TABLE witness_alarms (
        organization_id uuid NOT NULL,
        key    text NOT NULL,
        reason text NOT NULL,
        since  timestamptz(3) NOT NULL,
        PRIMARY KEY (organization_id, key)
      );
      CREATE TABLE witnessing (
        single boolean PRIMARY KEY DEFAULT true CHECK (single),
        holder uuid NOT NULL,
        until  timestamptz NOT NULL
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE cosigned_notes, witness_alarms, witnessing');
  }
}
