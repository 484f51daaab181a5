import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Who may come in: the people, how they sign in, and where they are signed in. What they may is in the history. */
export class Team1764000000031 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE users (
        id         uuid        PRIMARY KEY,
        mailbox    bytea       NOT NULL UNIQUE,      -- keyed hash of the address
        created_at timestamptz NOT NULL DEFAULT clock_timestamp()
      );

      CREATE TABLE sign_in_links (
        token      bytea       PRIMARY KEY,          -- SHA-256
        user_id    uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
        made_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX sign_in_links_by_user ON sign_in_links (user_id, made_at);
      CREATE INDEX sign_in_links_by_expiry ON sign_in_links (expires_at);

      CREATE TABLE sessions (
        token      bytea       PRIMARY KEY,          -- SHA-256
        id         uuid        NOT NULL UNIQUE,      -- by which it is listed and ended
        user_id    uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
        made_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
        seen_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
        expires_at timestamptz NOT NULL,
        browser    text        NOT NULL              -- such as Firefox on Linux
      );
      CREATE INDEX sessions_by_user ON sessions (user_id, made_at);
      CREATE INDEX sessions_by_expiry ON sessions (expires_at);

      CREATE TABLE passkeys (
        credential_id bytea       PRIMARY KEY,
        id            uuid        NOT NULL UNIQUE,
        user_id       uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
        public_key    bytea       NOT NULL,
        counter       bigint      NOT NULL,
        transports    text[]      NOT NULL,
        name          text        NOT NULL,
        made_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
        used_at       timestamptz
      );
      CREATE INDEX passkeys_by_user ON passkeys (user_id, made_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE passkeys, sessions, sign_in_links, users');
  }
}
