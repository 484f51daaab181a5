import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** What members have typed into forms and not saved yet. It is no part of the history. */
export class Drafts1764000000048 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE drafts (
        organization_id uuid        NOT NULL,
        member_id       uuid        NOT NULL,
        form            text        NOT NULL,
        record_id       uuid,                             -- the record that the form changes; null for a new one
        wrapped_key     bytea       NOT NULL,             -- of the fields, wrapped with the master key
        sealed          bytea       NOT NULL,             -- the fields
        saved_at        timestamptz NOT NULL,
        PRIMARY KEY (organization_id, member_id, form)
      );
      CREATE INDEX drafts_of_record ON drafts (organization_id, record_id) WHERE record_id IS NOT NULL;
      CREATE INDEX drafts_by_age ON drafts (saved_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE drafts');
  }
}
