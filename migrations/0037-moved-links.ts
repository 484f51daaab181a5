import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** A link that was moved to another record of the same person keeps its unique keys when the first record is erased. */
export class MovedLinks1764000000037 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      releasing(`
      AND NOT EXISTS (
        SELECT FROM events later WHERE later.organization_id = e.organization_id AND later.stream_id = e.stream_id
          AND later.version > e.version AND later.subject_id <> e.subject_id)`),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(releasing(''));
  }
}

/** The function of 0008. @param moved an additional condition for the events about the erased. */
const releasing = (moved: string) => /* sql */ `
  CREATE OR REPLACE FUNCTION release_links_of_the_erased() RETURNS trigger
  LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
  DECLARE
    organizations uuid[];
    streams uuid[];
  BEGIN
    SELECT array_agg(e.organization_id), array_agg(e.stream_id) INTO organizations, streams
    FROM gone JOIN events e ON e.organization_id = gone.organization_id AND e.subject_id = gone.subject_id
    WHERE e.subject_id <> e.stream_id ${moved};
    DELETE FROM unique_keys k USING (
      SELECT DISTINCT * FROM unnest(organizations, streams) AS link(organization_id, stream_id)
    ) link WHERE k.organization_id = link.organization_id AND k.stream_id = link.stream_id;
    RETURN NULL;
  END $$;
`;
