import { type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * What an erasure takes along beside the person's own record, whichever version of this program erases; and what
 * tells where the erased may still lie.
 */
export class Erasure1764000000008 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Appends lock subject_keys before events: in the other order both would wait for each other.
    await runner.query(LINKS);
    await runner.query(SERVING);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER links_of_the_erased ON subject_keys; DROP FUNCTION release_links_of_the_erased;
      DROP INDEX events_about_others, erasures; DROP TABLE serving;
      ALTER TABLE checkpoints DROP COLUMN clean_position`);
  }
}

// A signature's or membership's unique key belongs to its own stream, and tells whoever has the master key that
// this person signed that petition. It goes when the subject's key goes. No write about a subject is under way then:
// each holds the subject's lock, which the erasure has alone. Streams are found by the events about their subjects;
// the index leaves out what contacts' own streams say, so that only links pay for it. A plan made while the log was
// short would read all of it later: other plans are forbidden.
//
// Writers wait while the indexes are built, some seconds for a million events, as for those of 0006.
const LINKS = /* sql */ `
  CREATE FUNCTION release_links_of_the_erased() RETURNS trigger
  LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
  DECLARE
    organizations uuid[];
    streams uuid[];
  BEGIN
    SELECT array_agg(e.organization_id), array_agg(e.stream_id) INTO organizations, streams
    FROM gone JOIN events e ON e.organization_id = gone.organization_id AND e.subject_id = gone.subject_id
    WHERE e.subject_id <> e.stream_id;
    DELETE FROM unique_keys k USING (
      SELECT DISTINCT * FROM unnest(organizations, streams) AS link(organization_id, stream_id)
    ) link WHERE k.organization_id = link.organization_id AND k.stream_id = link.stream_id;
    RETURN NULL;
  END $$;

  CREATE TRIGGER links_of_the_erased AFTER DELETE ON subject_keys
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION release_links_of_the_erased();

  CREATE INDEX events_about_others ON events (organization_id, subject_id) WHERE subject_id <> stream_id;
  CREATE INDEX erasures ON events (position) WHERE type = 'ContactErased';

  -- Of those who were erased before.
  DELETE FROM unique_keys k USING events erased
    JOIN events e ON e.organization_id = erased.organization_id AND e.subject_id = erased.stream_id
  WHERE erased.type = 'ContactErased' AND e.subject_id <> e.stream_id
    AND k.organization_id = e.organization_id AND k.stream_id = e.stream_id;
`;

// clean_position: no person erased at or below it has been written into the files that hold the tables now.
const SERVING = /* sql */ `
  CREATE TABLE serving (
    instance   uuid        NOT NULL,
    projection text        NOT NULL,
    version    integer     NOT NULL,
    seen_at    timestamptz NOT NULL,
    PRIMARY KEY (instance, projection, version)
  ) WITH (fillfactor = 50);

  ALTER TABLE checkpoints ADD COLUMN clean_position bigint NOT NULL DEFAULT 0;
`;
