import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** What the public site's addresses begin with; and how many mails went to a mailbox that day. */
export class Site1764000000030 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE organization_slugs (
        slug            text        PRIMARY KEY,
        organization_id uuid        NOT NULL,
        left_at         timestamptz            -- when the organization took another: it leads to that for a year
      );
      CREATE INDEX organization_slugs_by_organization ON organization_slugs (organization_id);

      CREATE TABLE confirmation_mails (
        mailbox  bytea  PRIMARY KEY,           -- keyed hash of its address
        day      date   NOT NULL,
        requests uuid[] NOT NULL               -- for which one was sent on that day
      );
      CREATE INDEX confirmation_mails_by_day ON confirmation_mails (day);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE organization_slugs, confirmation_mails');
  }
}
