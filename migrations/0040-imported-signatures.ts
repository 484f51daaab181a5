import { type MigrationInterface, type QueryRunner } from 'typeorm';

const UNFINISHED = `'QUEUED', 'WAITING', 'TO_SIGN', 'RUNNING', 'WORKING', 'SIGNING'`;

/**
 * Imports of signatures, which instances of the previous version must not take, are `TO_SIGN` and `SIGNING`. Those
 * instances still use the index `contact_imports_unfinished`.
 */
export class ImportedSignatures1764000000040 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      ALTER TABLE contact_imports
        DROP CONSTRAINT contact_imports_status_check,
        ADD CONSTRAINT contact_imports_status_check
          CHECK (status IN ('UPLOADING', 'KEPT', ${UNFINISHED}, 'DONE', 'FAILED', 'CANCELLED'));
      CREATE INDEX contact_imports_to_run ON contact_imports (lease_expires_at) WHERE status IN (${UNFINISHED});
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      DELETE FROM contact_imports WHERE status IN ('TO_SIGN', 'SIGNING');
      DROP INDEX contact_imports_to_run;
      ALTER TABLE contact_imports
        DROP CONSTRAINT contact_imports_status_check,
        ADD CONSTRAINT contact_imports_status_check
          CHECK (status IN ('UPLOADING', 'KEPT', 'QUEUED', 'RUNNING', 'WAITING', 'WORKING', 'DONE', 'FAILED', 'CANCELLED'));
    `);
  }
}
