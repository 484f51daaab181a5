import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** How far each projection has read the log; its row is also the lease of whoever advances it. */
export class Projections1764000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(/* sql */ `
      CREATE TABLE checkpoints (
        projection      text        NOT NULL,
        version         integer     NOT NULL,
        position        bigint      NOT NULL DEFAULT 0,
        failed_position bigint,
        failure         text,
        failed_at       timestamptz,
        PRIMARY KEY (projection, version)
      );
    `);
    await runner.query(ADVANCE);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION advance_checkpoint; DROP TABLE checkpoints');
  }
}

// Takes the lease, moves the checkpoint over one page and answers the page (one row without an event where it
// is empty). One round trip instead of three, planned once: at one caller a write and its projection take
// 1.8 ms, not 2.3.
//
// The horizon is read under the lease and before the page, each in a statement of its own. Generic plans may
// be forced because nothing here depends on how many rows the planner expects: the keys are looked up one by
// one, where a join could be planned as a scan of all keys.
const ADVANCE = /* sql */ `
  CREATE FUNCTION advance_checkpoint(
    projection_ text, version_ int, types text[], page int, hung_after text, path text
  )
  RETURNS TABLE (reached bigint, horizon bigint, event events, wrapped_key bytea)
  LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
  DECLARE
    before bigint;
  BEGIN
    SELECT c.position INTO before FROM checkpoints c
    WHERE c.projection = projection_ AND c.version = version_ FOR UPDATE;
    horizon := event_horizon();
    reached := greatest(before, horizon);

    IF reached - before > page THEN
      reached := coalesce((
        SELECT e.position FROM events e
        WHERE e.position > before AND e.position <= horizon AND e.type = ANY (types)
        ORDER BY e.position OFFSET page - 1 LIMIT 1
      ), reached);
    END IF;
    IF reached > before THEN
      UPDATE checkpoints c SET position = reached, failed_position = NULL, failure = NULL, failed_at = NULL
      WHERE c.projection = projection_ AND c.version = version_;
    END IF;

    RETURN QUERY
    SELECT reached, horizon, e,
      (SELECT k.wrapped_key FROM subject_keys k
       WHERE k.organization_id = e.organization_id AND k.subject_id = e.subject_id)
    FROM (SELECT) one
    LEFT JOIN events e ON e.position > before AND e.position <= reached AND e.type = ANY (types)
    ORDER BY e.position;

    -- Last: the names above mean our tables, whatever the projection calls its own.
    PERFORM set_config('idle_in_transaction_session_timeout', hung_after, true),
      set_config('search_path', path, true);
  END $$;
`;
