import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Finds the broadcasts of an organization, so that those that a contact received can be listed. */
export class Deliveries1764000000046 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE INDEX IF NOT EXISTS broadcast_sendings_of_organization ON broadcast_sendings (organization_id, id)',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX broadcast_sendings_of_organization');
  }
}
