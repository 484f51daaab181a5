import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Which images have files in the store: the same bytes are kept once, whichever organizations show them. */
export class Images1764000000029 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE image_files (
        hash           text        PRIMARY KEY,
        removing_since timestamptz             -- nobody uses them any more, and they are about to go
      );
      CREATE INDEX image_files_removing ON image_files (removing_since) WHERE removing_since IS NOT NULL;

      CREATE TABLE image_uses (
        organization_id uuid        NOT NULL,
        image_id        uuid        NOT NULL,
        hash            text        NOT NULL,
        until           timestamptz,           -- while it is uploaded; null: the image is in the history
        PRIMARY KEY (organization_id, image_id)
      );
      CREATE INDEX image_uses_by_hash ON image_uses (hash);
      CREATE INDEX image_uses_unsettled ON image_uses (until) WHERE until IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE image_files, image_uses');
  }
}
