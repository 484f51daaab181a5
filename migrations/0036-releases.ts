import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Each instance announces its release and its host, so that releases that cannot serve together are noticed. */
export class Releases1764000000036 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Instances of earlier releases leave both NULL.
    await runner.query('ALTER TABLE serving ADD COLUMN release text, ADD COLUMN host text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE serving DROP COLUMN release, DROP COLUMN host');
  }
}
