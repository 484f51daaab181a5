import { type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * Finds whether an event destroyed a person's key, so that a key that is back in the table decrypts nothing. Writers wait while
 * the index is built, about a second for a million events. To avoid that, create it CONCURRENTLY by this name before.
 */
export class SubjectsEnded1764000000041 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE INDEX IF NOT EXISTS subjects_ended ON events (organization_id, stream_id)
        WHERE type IN ('ContactErased', 'ApiKeyRotated', 'ApiKeyRevoked', 'SuppressedAddressErased',
          'SignatureConfirmed', 'SignatureExpired', 'InvitationRevoked', 'MemberRemoved');
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX subjects_ended');
  }
}
