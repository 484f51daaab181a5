import { type MigrationInterface, type QueryRunner } from 'typeorm';

const UNFINISHED = `'QUEUED', 'RUNNING', 'WAITING', 'WORKING'`;

/** Imports that instances of the previous version must not take are `WAITING` and `WORKING`. */
export class ImportsByVersion1764000000039 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      ALTER TABLE contact_imports
        DROP CONSTRAINT contact_imports_status_check,
        ADD CONSTRAINT contact_imports_status_check
          CHECK (status IN ('UPLOADING', 'KEPT', ${UNFINISHED}, 'DONE', 'FAILED', 'CANCELLED'));
      CREATE INDEX contact_imports_unfinished ON contact_imports (lease_expires_at) WHERE status IN (${UNFINISHED});
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      DELETE FROM contact_imports WHERE status IN ('WAITING', 'WORKING');
      DROP INDEX contact_imports_unfinished;
      ALTER TABLE contact_imports
        DROP CONSTRAINT contact_imports_status_check,
        ADD CONSTRAINT contact_imports_status_check
          CHECK (status IN ('UPLOADING', 'KEPT', 'QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED'));
    `);
  }
}
