import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Tables of contacts that somebody has brought to the dashboard: kept, encrypted, until they are imported; a day at most. */
export class ContactImports1764000000032 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE contact_imports (
        id              uuid        PRIMARY KEY,
        organization_id uuid        NOT NULL,
        user_id         uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
        wrapped_key     bytea       NOT NULL,           -- of all that is sealed of it
        about           bytea       NOT NULL,           -- sealed: the file's name, its columns, what is to be done
        status          text        NOT NULL CHECK (status IN ('KEPT', 'RUNNING', 'DONE', 'FAILED')),
        lines           integer     NOT NULL,
        lines_done      integer     NOT NULL DEFAULT 0,
        result          bytea,                          -- sealed
        leased_until    timestamptz NOT NULL DEFAULT '-infinity',
        lease           uuid,
        made_at         timestamptz NOT NULL DEFAULT clock_timestamp()
      );
      CREATE INDEX contact_imports_running ON contact_imports (leased_until) WHERE status = 'RUNNING';
      CREATE INDEX contact_imports_by_age ON contact_imports (made_at);

      CREATE TABLE contact_import_chunks (
        import_id uuid    NOT NULL REFERENCES contact_imports ON DELETE CASCADE,
        number    integer NOT NULL,
        sealed    bytea   NOT NULL,
        PRIMARY KEY (import_id, number)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE contact_import_chunks, contact_imports');
  }
}
