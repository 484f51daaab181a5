import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Challenges that passkeys have answered: each is good once. Those that nobody answered stand nowhere. */
export class PasskeyChallenges1764000000033 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE passkey_challenges (
        challenge  bytea       PRIMARY KEY,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX passkey_challenges_by_expiry ON passkey_challenges (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE passkey_challenges');
  }
}
