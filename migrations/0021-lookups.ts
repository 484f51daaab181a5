import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Appends and pages of read models look rows up by an index, whatever is known of their number. Signatures are as before. */
export class Lookups1764000000021 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(APPEND);
    await runner.query(ADVANCE);
  }

  async down(): Promise<void> {
    // Nothing to take back: the versions before get the same answers.
  }
}

// A connection plans these functions once. Where the tables were nearly empty then, and that was known, each call read
// them whole until they were next analyzed: 16 commands took 75 ms beside 60,000 persons. So rows are looked up one by one,
// through an index, and nothing is joined but a few rows with what is looked up for each; the names of the settings say what
// they rule out. Machine code, which statements this short never earn, would be made for the price of what is ruled out.
const LOOKUPS = 'SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off';

const ADVANCE = `ALTER FUNCTION advance_checkpoint ${LOOKUPS}`;

// As `0020-claims.ts` has it, with the same answers. Several arrays are unnested side by side in a select list, where they
// need no store of their own as they do in FROM; versions and subjects are one statement; positions are drawn before
// the rows are stored, so that no row need be found again for the answer. A sixth less for one command, a tenth for 64.
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
  ) LANGUAGE plpgsql VOLATILE
  SET plan_cache_mode = force_generic_plan ${LOOKUPS} AS $$
  #variable_conflict use_column
  DECLARE
    now_ timestamptz;
    last_ timestamptz;        -- of the streams written to or rested on, the latest time
    times timestamptz[];      -- by command, from 1, where now_ would be too early for any; null otherwise
    stale int[];              -- commands whose expected version is not the stream's, or whose subject is not
    replayed int[] := '{}';
    claimed int;
    refused int[] := '{}';    -- commands that claim a taken key
    failed int[];             -- all of these
  BEGIN
    PERFORM pg_advisory_xact_lock_shared((x'4556'::bigint << 48) | (
      SELECT CASE WHEN p.is_called THEN p.last_value ELSE 0 END FROM events_position p
    ));

    -- New streams need no lock: their first version is guarded by the unique index, and their ids are new.
    -- Streams written to are locked for this call alone; guarded ones, and subjects spoken of elsewhere than
    -- in their own stream, are shared among all that leave them as they are.
    IF 0 < ANY (s_expected) OR cardinality(h_subject) > 0 THEN
      PERFORM CASE WHEN l.shared THEN pg_advisory_xact_lock_shared(17750, l.lock)
                   ELSE pg_advisory_xact_lock(17750, l.lock) END
      FROM (
        SELECT hashtext(held.stream::text) AS lock, bool_and(held.shared) AS shared
        FROM (
          SELECT unnest(s_stream), unnest(s_guard), unnest(s_expected)
          UNION ALL
          SELECT unnest(h_subject), true, 1
        ) held(stream, shared, expected)
        WHERE held.expected > 0
        GROUP BY 1 ORDER BY 1
      ) l;
    END IF;

    -- One clock, the database's, read under the streams' locks.
    now_ := date_trunc('milliseconds', clock_timestamp());

    SELECT coalesce(array_agg(v.command) FILTER (WHERE v.stale), '{}'), max(v.recorded_at) INTO stale, last_ FROM (
      SELECT s.command, coalesce(last.version, 0) <> s.expected, last.recorded_at
      FROM (
        SELECT unnest(s_command), unnest(s_organization), unnest(s_stream), unnest(s_expected)
      ) AS s(command, organization, stream, expected)
      LEFT JOIN LATERAL (
        SELECT e.version, e.recorded_at FROM events e
        WHERE e.organization_id = s.organization AND e.stream_id = s.stream
        ORDER BY e.version DESC LIMIT 1
      ) last ON true
      UNION ALL
      -- A subject that is not, or no more: nothing may be said of them.
      SELECT h.command, (
        SELECT false FROM subject_keys k WHERE k.organization_id = h.organization AND k.subject_id = h.subject
      ) IS NULL, NULL
      FROM (
        SELECT unnest(h_command), unnest(h_organization), unnest(h_subject)
      ) AS h(command, organization, subject)
    ) v(command, stale, recorded_at);

    -- Of two commands that write to one stream the first is right.
    IF commands > 1 THEN
      SELECT stale || coalesce(array_agg(s.command), '{}') INTO stale FROM (
        SELECT s.command, row_number() OVER (PARTITION BY s.organization, s.stream ORDER BY s.command) AS turn
        FROM (
          SELECT unnest(s_command), unnest(s_organization), unnest(s_stream), unnest(s_guard)
        ) AS s(command, organization, stream, guard)
        WHERE NOT s.guard
      ) s WHERE s.turn > 1;
    END IF;
    failed := stale;

    IF last_ > now_ THEN
      SELECT array_agg(c.recorded_at ORDER BY c.command) INTO times FROM (
        SELECT c.command, greatest(now_, max(c.recorded_at)) AS recorded_at
        FROM (
          SELECT s.command, (
            SELECT e.recorded_at FROM events e
            WHERE e.organization_id = s.organization AND e.stream_id = s.stream
            ORDER BY e.version DESC LIMIT 1
          )
          FROM (SELECT unnest(s_command), unnest(s_organization), unnest(s_stream)) AS s(command, organization, stream)
          UNION ALL
          SELECT generate_series(0, commands - 1), NULL
        ) c(command, recorded_at)
        GROUP BY c.command
      ) c;
    END IF;

    IF cardinality(i_key) > 0 THEN
      INSERT INTO idempotency_keys (organization_id, key, fingerprint, result)
      SELECT i.organization, i.key, i.fingerprint, i.result
      FROM (
        SELECT unnest(i_command), unnest(i_organization), unnest(i_key), unnest(i_fingerprint), unnest(i_result)
      ) AS i(command, organization, key, fingerprint, result)
      WHERE i.command <> ALL (failed)
      ORDER BY i.organization, i.key, i.command
      ON CONFLICT DO NOTHING;
      GET DIAGNOSTICS claimed = ROW_COUNT;
      -- Mostly all were free. Otherwise whoever finds their key there, and has not put it there now, repeats an earlier
      -- request; also one whose expected version is not the stream's, since that request has moved it.
      IF claimed < cardinality(i_key) THEN
        SELECT coalesce(array_agg(i.command), '{}') INTO replayed
        FROM (
          SELECT i.*, i.command <> ALL (failed) AND 1 = row_number() OVER (
            PARTITION BY i.organization, i.key, i.command <> ALL (failed) ORDER BY i.command
          ) AS is_first
          FROM unnest(i_command, i_organization, i_key) AS i(command, organization, key)
        ) i
        JOIN idempotency_keys k ON k.organization_id = i.organization AND k.key = i.key
        WHERE NOT (i.is_first AND k.xmin = pg_current_xact_id()::xid);
        failed := failed || replayed;
      END IF;
    END IF;

    IF cardinality(u_key) > 0 THEN
      INSERT INTO unique_keys (organization_id, key, stream_id)
      SELECT u.organization, u.key, u.stream
      FROM (
        SELECT unnest(u_command), unnest(u_organization), unnest(u_key), unnest(u_stream)
      ) AS u(command, organization, key, stream)
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
        failed := failed || refused;
      END IF;
    END IF;

    IF cardinality(refused) > 0 THEN
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
      FROM (
        SELECT unnest(k_command), unnest(k_organization), unnest(k_subject), unnest(k_wrapped)
      ) AS k(command, organization, subject, wrapped)
      WHERE k.command <> ALL (failed) ORDER BY 1, 2;
    END IF;

    RETURN QUERY
    WITH placed AS MATERIALIZED (
      SELECT nextval('events_position') AS position, e.*, coalesce(times[e.command + 1], now_) AS recorded_at
      FROM (
        SELECT unnest(e_command), unnest(e_organization), unnest(e_stream_type), unnest(e_stream), unnest(e_version),
          unnest(e_id), unnest(e_type), unnest(e_schema), unnest(e_data), unnest(e_personal), unnest(e_subject),
          unnest(e_metadata), unnest(e_body_digest)
      ) AS e(command, organization, stream_type, stream, version, id, type, schema,
             data, personal, subject, metadata, body_digest)
      WHERE e.command <> ALL (failed)
    ), appended AS (
      INSERT INTO events (position, organization_id, stream_type, stream_id, version, event_id, type, schema,
                          data, personal, subject_id, metadata, recorded_at, digest)
      SELECT p.position, p.organization, p.stream_type, p.stream, p.version, p.id, p.type, p.schema,
             p.data, p.personal, p.subject, p.metadata, p.recorded_at,
             sha256(p.body_digest || int8send((extract(epoch FROM p.recorded_at) * 1000)::bigint))
      FROM placed p
    )
    SELECT c.command, 'appended', max(c.position), coalesce(times[c.command + 1], now_),
           NULL::bytea, NULL::jsonb, NULL::bytea, NULL::uuid
    FROM (
      SELECT p.command, p.position FROM placed p
      UNION ALL
      SELECT generate_series(0, commands - 1), NULL
    ) AS c(command, position)
    WHERE c.command <> ALL (failed)
    GROUP BY c.command;

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
