import { type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * Finds the same as `subjects_ended`, and the ends of sign-ups. The release before needs the other index. Writers wait while the index is built, about a second
 * for a million events. To avoid that, create it CONCURRENTLY by this name before.
 */
export class SignUpsEnded1764000000044 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE INDEX IF NOT EXISTS subjects_ended_2 ON events (organization_id, stream_id)
        WHERE type IN ('ContactErased', 'ApiKeyRotated', 'ApiKeyRevoked', 'SuppressedAddressErased',
          'SignatureConfirmed', 'SignatureExpired', 'SignUpConfirmed', 'SignUpExpired', 'InvitationRevoked',
          'MemberRemoved');
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX subjects_ended_2');
  }
}
