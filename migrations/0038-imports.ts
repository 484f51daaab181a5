import { type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * Imports through the API: of any size, by API keys, continued after the last finished page.
 *
 * Instances of 0.4.0 take imports that are `RUNNING` with `leased_until` in the past, and delete old ones whose
 * `leased_until` is in the past. So `leased_until` of imports that they cannot read is their `kept_until`, and
 * their lease is `lease_expires_at`.
 */
export class Imports1764000000038 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      ALTER TABLE contact_imports
        ALTER COLUMN user_id DROP NOT NULL,
        DROP CONSTRAINT contact_imports_status_check,
        ADD CONSTRAINT contact_imports_status_check
          CHECK (status IN ('UPLOADING', 'KEPT', 'QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED')),
        ADD COLUMN api_key_id       uuid,                       -- if no user imports
        ADD COLUMN created_at       timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
        ADD COLUMN kept_until       timestamptz,                -- null: of an earlier version
        ADD COLUMN lease_expires_at timestamptz NOT NULL DEFAULT '-infinity',
        ADD COLUMN attempts         integer     NOT NULL DEFAULT 0,
        ADD COLUMN is_cancelled     boolean     NOT NULL DEFAULT false,
        ADD COLUMN last_line        integer     NOT NULL DEFAULT 0,   -- of the finished pages
        ADD COLUMN pages            integer     NOT NULL DEFAULT 0,
        ADD COLUMN bytes            bigint      NOT NULL DEFAULT 0,
        ADD COLUMN bytes_done       bigint      NOT NULL DEFAULT 0,
        ADD COLUMN started_at       timestamptz,
        ADD COLUMN finished_at      timestamptz;
      CREATE INDEX contact_imports_due ON contact_imports (lease_expires_at) WHERE status IN ('QUEUED', 'RUNNING');
      CREATE INDEX contact_imports_by_created_at ON contact_imports (organization_id, created_at, id);

      CREATE TABLE contact_import_pages (
        import_id uuid    NOT NULL REFERENCES contact_imports ON DELETE CASCADE,
        number    integer NOT NULL,
        sealed    bytea   NOT NULL,                             -- the outcome of each row
        PRIMARY KEY (import_id, number)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      DROP TABLE contact_import_pages;
      DELETE FROM contact_imports WHERE user_id IS NULL OR status NOT IN ('KEPT', 'RUNNING', 'DONE', 'FAILED');
      DROP INDEX contact_imports_due, contact_imports_by_created_at;
      ALTER TABLE contact_imports
        ALTER COLUMN user_id SET NOT NULL,
        DROP CONSTRAINT contact_imports_status_check,
        ADD CONSTRAINT contact_imports_status_check CHECK (status IN ('KEPT', 'RUNNING', 'DONE', 'FAILED')),
        DROP COLUMN api_key_id, DROP COLUMN created_at, DROP COLUMN kept_until, DROP COLUMN lease_expires_at,
        DROP COLUMN attempts, DROP COLUMN is_cancelled, DROP COLUMN last_line, DROP COLUMN pages,
        DROP COLUMN bytes, DROP COLUMN bytes_done, DROP COLUMN started_at, DROP COLUMN finished_at;
    `);
  }
}
