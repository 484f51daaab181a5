import { type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * The undo of an import that has ended. Its own status: instances of the previous version leave ended imports alone. It uses
 * the columns of the import's lease.
 */
export class UndoneImports1764000000042 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      ALTER TABLE contact_imports
        ADD COLUMN undo_status      text CHECK (undo_status IN ('QUEUED', 'RUNNING', 'DONE', 'FAILED')),
        ADD COLUMN undo_user_id     uuid,
        ADD COLUMN undo_api_key_id  uuid,                             -- if no user undoes it
        ADD COLUMN undo_position    bigint  NOT NULL DEFAULT 0,       -- the import's events up to this one are done
        ADD COLUMN undo_deleted     integer NOT NULL DEFAULT 0,
        ADD COLUMN undo_kept        integer NOT NULL DEFAULT 0,
        ADD COLUMN undo_failure     text,
        ADD COLUMN undo_started_at  timestamptz,
        ADD COLUMN undo_finished_at timestamptz;
      CREATE INDEX contact_imports_undone ON contact_imports (lease_expires_at)
        WHERE undo_status IN ('QUEUED', 'RUNNING');
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      DROP INDEX contact_imports_undone;
      ALTER TABLE contact_imports
        DROP COLUMN undo_status, DROP COLUMN undo_user_id, DROP COLUMN undo_api_key_id, DROP COLUMN undo_position,
        DROP COLUMN undo_deleted, DROP COLUMN undo_kept, DROP COLUMN undo_failure, DROP COLUMN undo_started_at,
        DROP COLUMN undo_finished_at;
    `);
  }
}
