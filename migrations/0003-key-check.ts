import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Holds one row that tells whether the configured master key is the one this database was written with. */
export class KeyCheck1764000000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE key_check (
        single      boolean PRIMARY KEY DEFAULT true CHECK (single),
        check_value bytea   NOT NULL
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE key_check');
  }
}
