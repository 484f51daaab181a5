import { type MigrationInterface, type QueryRunner } from 'typeorm';
import { APPEND } from './append-events.js';

/** The log, what is claimed and kept beside it in the same transaction, and the one function that appends. */
export class EventStore1764000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(TABLES);
    await runner.query(APPEND_ONLY);
    await runner.query(HORIZON);
    await runner.query(APPEND);
  }

  down(): Promise<void> {
    throw new Error('The history cannot be taken back: restore a backup instead.');
  }
}

const TABLES = /* sql */ `
  CREATE SEQUENCE events_position AS bigint CACHE 1;

  CREATE TABLE events (
    position        bigint         PRIMARY KEY,
    organization_id uuid           NOT NULL,
    stream_type     text           NOT NULL,
    stream_id       uuid           NOT NULL,
    version         integer        NOT NULL CHECK (version > 0),
    event_id        uuid           NOT NULL,
    type            text           NOT NULL,
    schema          smallint       NOT NULL,
    data            jsonb          NOT NULL,
    personal        bytea,
    subject_id      uuid,
    metadata        jsonb          NOT NULL,
    recorded_at     timestamptz(3) NOT NULL,
    digest          bytea          NOT NULL,
    UNIQUE (organization_id, stream_id, version)
  );
  ALTER SEQUENCE events_position OWNED BY events.position;

  CREATE TABLE unique_keys (
    organization_id uuid  NOT NULL,
    key             bytea NOT NULL,
    stream_id       uuid  NOT NULL,
    PRIMARY KEY (organization_id, key)
  );
  CREATE INDEX unique_keys_of_stream ON unique_keys (organization_id, stream_id);

  CREATE TABLE idempotency_keys (
    organization_id uuid        NOT NULL,
    key             bytea       NOT NULL,
    fingerprint     bytea       NOT NULL,
    result          jsonb       NOT NULL,
    recorded_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (organization_id, key)
  );
  CREATE INDEX idempotency_keys_by_age ON idempotency_keys (recorded_at);

  CREATE TABLE subject_keys (
    organization_id uuid  NOT NULL,
    subject_id      uuid  NOT NULL,
    wrapped_key     bytea NOT NULL,
    PRIMARY KEY (organization_id, subject_id)
  );
`;

// The trigger stops everybody, superusers included; ENABLE ALWAYS also where session_replication_role is
// 'replica'. The revoked right stops the application's own role before the trigger is even asked.
const APPEND_ONLY = /* sql */ `
  CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION 'events are append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
  END $$;

  CREATE TRIGGER events_are_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
  ALTER TABLE events ENABLE ALWAYS TRIGGER events_are_append_only;

  REVOKE UPDATE, DELETE, TRUNCATE ON events FROM PUBLIC, CURRENT_USER;
`;

// 0x4556 in the top 16 bits marks our floor locks among all advisory locks of the database; the lower 48
// hold the floor. pg_locks shows the upper half of a bigint key as classid, the lower as objid.
//
// last_value must be read before pg_locks is: a writer that takes its floor lock between the two reads
// gets positions above the last_value we already have; the other way round its events would be skipped.
const HORIZON = /* sql */ `
  CREATE FUNCTION last_position() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    -- Before the first nextval, last_value is 1 although no event has that position yet.
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM events_position
  $$;

  CREATE FUNCTION event_horizon() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
  DECLARE
    last bigint := last_position();
    lowest_floor bigint;
  BEGIN
    SELECT min(((l.classid::bigint & 65535) << 32) | l.objid::bigint) INTO lowest_floor
    FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.classid::bigint >> 16 = x'4556'::bigint
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database());
    RETURN least(last, lowest_floor);
  END $$;
`;
