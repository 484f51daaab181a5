import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Claims cost what they are, not the square of it. Instances of the versions before call the same function. */
export class Claims1764000000020 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(APPEND);
  }

  async down(): Promise<void> {
    // Nothing to take back: the versions before get the same answers.
  }
}

// As `0011-times.ts` has it, but for the claims of unique keys: each was compared with all that the call had won, a third of
// the time of a call of 200 new contacts. How many were won is enough to know that all were.
const APPEND = /* sql */ `
  CREATE OR REPLACE FUNCTION append_events(
    s_command int[], s_organization uuid[], s_stream uuid[], s_expected int[], s_guard boolean[],
    h_command int[], h_organization uuid[], h_subject uuid[],
    i_command int[], i_organization uuid[], i_key bytea[], i_fingerprint bytea[], i_result jsonb[],
    u_command int[], u_organization uuid[], u_key bytea[], u_stream uuid[],
    r_command int[], r_organization uuid[], r_key bytea[], r_stream uuid[],
    k_command int[], k_organization uuid[], k_subject uuid[], k_wrapped bytea[],
    x_command int[], x_organization uuid[], x_subject uuid[],
    e_command int[], e_organization uuid[], e_stream_type text[], e_stream uuid[], e_version int[],
    e_id uuid[], e_type text[], e_schema smallint[], e_data jsonb[], e_personal bytea[], e_subject uuid[],
    e_metadata jsonb[], e_body_digest bytea[],
    commands int
  ) RETURNS TABLE (
    command int, status text, "position" bigint, recorded_at timestamptz,
    fingerprint bytea, result jsonb, key bytea, owner uuid
  ) LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
  #variable_conflict use_column
  DECLARE
    now_ timestamptz;
    last_ timestamptz;        -- of the streams written to or rested on, the latest time
    times timestamptz[];      -- by command, from 1, where now_ would be too early for any; null otherwise
    stale int[] := '{}';      -- commands whose expected version is not the stream's
    replayed int[] := '{}';
    claimed int;              -- unique keys that were free
    refused int[] := '{}';    -- commands that claim a taken key
    failed int[] := '{}';     -- all of these
  BEGIN
    PERFORM pg_advisory_xact_lock_shared((x'4556'::bigint << 48) | last_position());

    -- New streams need no lock: their first version is guarded by the unique index, and their ids are new.
    -- Streams written to are locked for this call alone; guarded ones, and subjects spoken of elsewhere than
    -- in their own stream, are shared among all that leave them as they are.
    IF 0 < ANY (s_expected) OR cardinality(h_subject) > 0 THEN
      PERFORM CASE WHEN l.shared THEN pg_advisory_xact_lock_shared(17750, l.lock)
                   ELSE pg_advisory_xact_lock(17750, l.lock) END
      FROM (
        SELECT hashtext(held.stream::text) AS lock, bool_and(held.shared) AS shared
        FROM (
          SELECT s.stream, s.guard FROM unnest(s_stream, s_expected, s_guard) AS s(stream, expected, guard)
          WHERE s.expected > 0
          UNION ALL
          SELECT h.subject, true FROM unnest(h_subject) AS h(subject)
        ) held(stream, shared)
        GROUP BY 1 ORDER BY 1
      ) l;
    END IF;

    -- One clock, the database's, read under the streams' locks.
    now_ := date_trunc('milliseconds', clock_timestamp());

    SELECT coalesce(array_agg(DISTINCT v.command)
                    FILTER (WHERE v.current <> v.expected OR (v.turn > 1 AND NOT v.guard)), '{}'),
           max(v.recorded_at)
    INTO stale, last_ FROM (
      SELECT s.command, s.expected, s.guard, coalesce(last.version, 0) AS current, last.recorded_at,
        row_number() OVER (PARTITION BY s.organization, s.stream, s.guard ORDER BY s.command) AS turn
      FROM unnest(s_command, s_organization, s_stream, s_expected, s_guard)
        AS s(command, organization, stream, expected, guard)
      LEFT JOIN LATERAL (
        SELECT e.version, e.recorded_at FROM events e
        WHERE e.organization_id = s.organization AND e.stream_id = s.stream
        ORDER BY e.version DESC LIMIT 1
      ) last ON true
    ) v;

    IF last_ > now_ THEN
      SELECT array_agg(c.recorded_at ORDER BY c.command) INTO times FROM (
        SELECT c.command, greatest(now_, max(last.recorded_at)) AS recorded_at
        FROM generate_series(0, commands - 1) AS c(command)
        LEFT JOIN unnest(s_command, s_organization, s_stream) AS s(command, organization, stream)
          ON s.command = c.command
        LEFT JOIN LATERAL (
          SELECT e.recorded_at FROM events e
          WHERE e.organization_id = s.organization AND e.stream_id = s.stream
          ORDER BY e.version DESC LIMIT 1
        ) last ON true
        GROUP BY c.command
      ) c;
    END IF;

    IF cardinality(h_subject) > 0 THEN
      -- A subject that is not, or no more: nothing may be said of them.
      SELECT stale || coalesce(array_agg(DISTINCT h.command), '{}') INTO stale
      FROM unnest(h_command, h_organization, h_subject) AS h(command, organization, subject)
      WHERE NOT EXISTS (SELECT FROM subject_keys k
                        WHERE k.organization_id = h.organization AND k.subject_id = h.subject);
    END IF;
    failed := stale;

    IF cardinality(i_key) > 0 THEN
      WITH won AS (
        INSERT INTO idempotency_keys (organization_id, key, fingerprint, result)
        SELECT i.organization, i.key, i.fingerprint, i.result
        FROM unnest(i_command, i_organization, i_key, i_fingerprint, i_result)
          AS i(command, organization, key, fingerprint, result)
        WHERE i.command <> ALL (failed)
        ORDER BY i.organization, i.key, i.command
        ON CONFLICT DO NOTHING
        RETURNING organization_id, key
      ), first AS (
        SELECT DISTINCT ON (i.organization, i.key) i.organization, i.key, i.command
        FROM unnest(i_command, i_organization, i_key) AS i(command, organization, key)
        WHERE i.command <> ALL (failed)
        ORDER BY i.organization, i.key, i.command
      )
      SELECT coalesce(array_agg(i.command), '{}') INTO replayed
      FROM unnest(i_command, i_organization, i_key) AS i(command, organization, key)
      WHERE NOT EXISTS (
        SELECT FROM won JOIN first ON first.organization = won.organization_id AND first.key = won.key
        WHERE first.command = i.command
      );
      -- A stale command counts as a replay only where its key was really used before.
      SELECT coalesce(array_agg(i.command), '{}') INTO replayed
      FROM unnest(i_command, i_organization, i_key) AS i(command, organization, key)
      WHERE i.command = ANY (replayed)
        AND EXISTS (SELECT FROM idempotency_keys k WHERE k.organization_id = i.organization AND k.key = i.key);
      failed := failed || replayed;
    END IF;

    IF cardinality(u_key) > 0 THEN
      INSERT INTO unique_keys (organization_id, key, stream_id)
      SELECT u.organization, u.key, u.stream
      FROM unnest(u_command, u_organization, u_key, u_stream) AS u(command, organization, key, stream)
      WHERE u.command <> ALL (failed)
      ORDER BY u.organization, u.key, u.command
      ON CONFLICT DO NOTHING;
      GET DIAGNOSTICS claimed = ROW_COUNT;
      -- Mostly all were free. Otherwise whoever claimed a key and does not hold it now has lost it.
      IF claimed < cardinality(u_key) THEN
        SELECT coalesce(array_agg(DISTINCT u.command), '{}') INTO refused
        FROM unnest(u_command, u_organization, u_key, u_stream) AS u(command, organization, key, stream)
        WHERE u.command <> ALL (failed) AND NOT EXISTS (
          SELECT FROM unique_keys k
          WHERE k.organization_id = u.organization AND k.key = u.key AND k.stream_id = u.stream
        );
      END IF;
      failed := failed || refused;
    END IF;

    IF cardinality(failed) > 0 THEN
      -- What failed reserves nothing. A stream that stands keeps the keys it had: by xmin only the claims
      -- of this very call are taken back.
      DELETE FROM unique_keys k
      USING unnest(u_command, u_organization, u_key, u_stream) AS u(command, organization, key, stream)
      WHERE u.command = ANY (refused) AND k.organization_id = u.organization AND k.key = u.key
        AND k.stream_id = u.stream AND k.xmin = pg_current_xact_id()::xid;
      DELETE FROM idempotency_keys k
      USING unnest(i_command, i_organization, i_key) AS i(command, organization, key)
      WHERE i.command = ANY (refused) AND i.command <> ALL (replayed)
        AND k.organization_id = i.organization AND k.key = i.key;
    END IF;

    IF cardinality(k_subject) > 0 THEN
      INSERT INTO subject_keys (organization_id, subject_id, wrapped_key)
      SELECT k.organization, k.subject, k.wrapped
      FROM unnest(k_command, k_organization, k_subject, k_wrapped) AS k(command, organization, subject, wrapped)
      WHERE k.command <> ALL (failed) ORDER BY 1, 2;
    END IF;

    RETURN QUERY
    WITH appended AS (
      INSERT INTO events (position, organization_id, stream_type, stream_id, version, event_id, type, schema,
                          data, personal, subject_id, metadata, recorded_at, digest)
      SELECT nextval('events_position'), e.* FROM (
        SELECT e.organization, e.stream_type, e.stream, e.version, e.id, e.type, e.schema, e.data, e.personal,
               e.subject, e.metadata, t.recorded_at,
               sha256(e.body_digest || int8send((extract(epoch FROM t.recorded_at) * 1000)::bigint))
        FROM unnest(e_command, e_organization, e_stream_type, e_stream, e_version, e_id, e_type, e_schema,
                    e_data, e_personal, e_subject, e_metadata, e_body_digest) WITH ORDINALITY
          AS e(command, organization, stream_type, stream, version, id, type, schema,
               data, personal, subject, metadata, body_digest, turn)
        CROSS JOIN LATERAL (SELECT coalesce(times[e.command + 1], now_)) AS t(recorded_at)
        WHERE e.command <> ALL (failed)
        ORDER BY e.turn
      ) e
      RETURNING position, event_id
    ), last AS (
      SELECT e.command, max(a.position) AS position
      FROM unnest(e_command, e_id) AS e(command, id) JOIN appended a ON a.event_id = e.id
      GROUP BY e.command
    )
    SELECT c.command, 'appended', last.position, coalesce(times[c.command + 1], now_),
           NULL::bytea, NULL::jsonb, NULL::bytea, NULL::uuid
    FROM generate_series(0, commands - 1) AS c(command) LEFT JOIN last ON last.command = c.command
    WHERE c.command <> ALL (failed);

    IF cardinality(replayed) > 0 THEN
      RETURN QUERY
      SELECT i.command, CASE WHEN k.key IS NULL THEN 'retry' ELSE 'replayed' END,
             NULL::bigint, now_, k.fingerprint, k.result, NULL::bytea, NULL::uuid
      FROM unnest(i_command, i_organization, i_key) AS i(command, organization, key)
      LEFT JOIN idempotency_keys k ON k.organization_id = i.organization AND k.key = i.key
      WHERE i.command = ANY (replayed);
    END IF;
    IF cardinality(stale) > 0 THEN
      RETURN QUERY
      SELECT DISTINCT c.command, 'version', NULL::bigint, now_, NULL::bytea, NULL::jsonb, NULL::bytea, NULL::uuid
      FROM unnest(stale) AS c(command) WHERE c.command <> ALL (replayed);
    END IF;
    IF cardinality(refused) > 0 THEN
      -- One row per lost key; none left means that its owner failed too.
      RETURN QUERY
      SELECT u.command, CASE WHEN k.key IS NULL THEN 'retry' ELSE 'taken' END,
             NULL::bigint, now_, NULL::bytea, NULL::jsonb, u.key, k.stream_id
      FROM unnest(u_command, u_organization, u_key, u_stream) AS u(command, organization, key, stream)
      LEFT JOIN unique_keys k ON k.organization_id = u.organization AND k.key = u.key
      WHERE u.command = ANY (refused) AND k.stream_id IS DISTINCT FROM u.stream;
    END IF;

    IF cardinality(r_key) > 0 THEN
      DELETE FROM unique_keys k
      USING unnest(r_command, r_organization, r_key, r_stream) AS r(command, organization, key, stream)
      WHERE r.command <> ALL (failed)
        AND k.organization_id = r.organization AND k.key = r.key AND k.stream_id = r.stream;
    END IF;
    IF cardinality(x_subject) > 0 THEN
      DELETE FROM subject_keys k USING unnest(x_command, x_organization, x_subject) AS x(command, organization, subject)
      WHERE x.command <> ALL (failed) AND k.organization_id = x.organization AND k.subject_id = x.subject;
      DELETE FROM unique_keys k USING unnest(x_command, x_organization, x_subject) AS x(command, organization, subject)
      WHERE x.command <> ALL (failed) AND k.organization_id = x.organization AND k.stream_id = x.subject;
    END IF;
  END $$;
`;
