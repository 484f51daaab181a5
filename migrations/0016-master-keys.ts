import { type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * A master key can be replaced by another: `libs/event-store/keyring.ts` says how `key_check` is read, `rewrapping.ts` how
 * the one takes over from the other.
 */
export class MasterKeys1764000000016 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // A key that is wrapped with a master which was replaced in the meantime is not stored: whoever did that learns of the
    // other (SQLSTATE KR001), and wraps it anew. Keys that the first master wraps bear no mark, and nothing is compared.
    await runner.query(/* sql */ `
      CREATE FUNCTION refuse_other_masters() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (
          SELECT FROM key_check c CROSS JOIN added a
          WHERE c.secrets IS NOT NULL AND substr(a.wrapped_key, 1, 8) <> substr(c.check_value, 1, 8)
        ) THEN
          RAISE 'the master key was replaced by another' USING ERRCODE = 'KR001';
        END IF;
        RETURN NULL;
      END $$;

      CREATE TRIGGER keys_of_the_master_in_use AFTER INSERT ON subject_keys
        REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION refuse_other_masters();

      ALTER TABLE key_check ADD COLUMN secrets bytea, ADD COLUMN replaces bytea;

      -- Ids of the master keys that the instance has; NULL: it is of a version that has one and knows of no other.
      ALTER TABLE serving ADD COLUMN masters bytea[];
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER keys_of_the_master_in_use ON subject_keys; DROP FUNCTION refuse_other_masters;
      ALTER TABLE key_check DROP COLUMN secrets, DROP COLUMN replaces; ALTER TABLE serving DROP COLUMN masters`);
  }
}
