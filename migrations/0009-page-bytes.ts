import { type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * Pages of read models end by bytes too: 5,000 events of 256 KiB are more than a process holds. Instances of the
 * version before call the same function, and get pages that are shorter.
 */
export class PageBytes1764000000009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(PAGE_END);
    await runner.query(ADVANCE);
  }

  async down(): Promise<void> {
    // Nothing to take back: the version before gets along with shorter pages.
  }
}

// The last position of a page of these types: the whole of (after_, up_to], or as far as the events and bytes allow,
// one event at least. Only values that are stored compressed are written out to be measured, one after the other
// and none beyond the page: a sum over all candidates would unpack a thousand to hand out sixty.
const PAGE_END = /* sql */ `
  CREATE FUNCTION page_end(after_ bigint, up_to bigint, types text[], most_events int, most_bytes bigint)
  RETURNS bigint LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
  DECLARE
    one record;
    events_ int := 0;
    bytes bigint := 0;
  BEGIN
    FOR one IN
      SELECT e.position, coalesce(octet_length(e.personal), 0) +
        CASE WHEN pg_column_compression(e.data) IS NULL THEN pg_column_size(e.data)
             ELSE octet_length(e.data::text) END AS bytes
      FROM events e WHERE e.position > after_ AND e.position <= up_to AND e.type = ANY (types)
      ORDER BY e.position
    LOOP
      events_ := events_ + 1;
      bytes := bytes + one.bytes;
      IF events_ >= most_events OR bytes >= most_bytes THEN RETURN one.position; END IF;
    END LOOP;
    RETURN up_to;
  END $$;
`;

// As 0002 made it, but for the end of the page. 64 events are never too much, and most pages have fewer.
const ADVANCE = /* sql */ `
  CREATE OR REPLACE FUNCTION advance_checkpoint(
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

    IF reached - before > least(page, 64) THEN
      reached := page_end(before, reached, types, page, 16 * 1024 * 1024);
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
