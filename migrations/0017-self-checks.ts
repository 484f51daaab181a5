import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** What the self-check looks at, when it is due again, and what it found; `begun_at` says that somebody is at it. */
export class SelfChecks1764000000017 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE self_checks (
        kind text NOT NULL,
        subject text NOT NULL,
        due_at timestamp with time zone NOT NULL,
        begun_at timestamp with time zone,
        checked_at timestamp with time zone,
        finding text,
        found_at timestamp with time zone,
        PRIMARY KEY (kind, subject)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE self_checks');
  }
}
