import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** The emails that thank signers: one row per signature, committed before its email leaves. */
export class ThankYouMails1764000000043 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE thank_you_mails (
        organization_id uuid        NOT NULL,
        signature_id    uuid        NOT NULL,
        petition_id     uuid        NOT NULL,
        status          text        NOT NULL DEFAULT 'CLAIMED'
                        CHECK (status IN ('CLAIMED', 'WAITING', 'SENT', 'SKIPPED', 'FAILED', 'IN_DOUBT')),
        attempts        integer     NOT NULL DEFAULT 1,
        claimed_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (organization_id, signature_id)
      );
      CREATE INDEX thank_you_mails_of_petition ON thank_you_mails (organization_id, petition_id, status);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE thank_you_mails');
  }
}
