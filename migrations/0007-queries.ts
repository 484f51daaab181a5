import { type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * What finds by index whatever may be asked of the history and of the read models' texts, also where nothing is
 * found.
 *
 * Each index costs every append, so there are as few as answer every filter: kinds have one for both of its columns
 * (the history's query makes of one what the other needs). Hashes of the request id are no cheaper: they lose the
 * order of UUIDv7, and with it the page that is in memory.
 *
 * Writers wait while the indexes are built, readers do not: four to eight seconds for a million events. Who cannot have that
 * creates them CONCURRENTLY before, by these names: what is there is left alone.
 */
export class Queries1764000000007 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const extension of ['pg_trgm', 'btree_gin']) await runner.query(createIfAllowed(extension));
    for (const [name, columns] of Object.entries(INDEXES)) {
      await runner.query(`CREATE INDEX IF NOT EXISTS ${name} ON events (${columns})`);
    }
    // No samples of what clients call their requests.
    await runner.query('ALTER INDEX events_by_request ALTER COLUMN 2 SET STATISTICS 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX ${Object.keys(INDEXES).join(', ')}`);
  }
}

const INDEXES = {
  events_by_kind: 'organization_id, stream_type, type, position',
  events_by_actor: `organization_id, (metadata->'actor'->>'id'), position`,
  events_by_request: `organization_id, (metadata->>'requestId'), position`,
  events_by_time: 'organization_id, recorded_at, position',
};

/** The owner of a database may create both; where that was taken away everything works without (libs/database). */
function createIfAllowed(extension: string): string {
  return /* sql */ `
    DO $$ BEGIN
      CREATE EXTENSION IF NOT EXISTS ${extension};
    EXCEPTION WHEN OTHERS THEN
      RAISE NOTICE 'without %: %', '${extension}', SQLERRM;
    END $$`;
}
