import { type MigrationInterface, type QueryRunner } from 'typeorm';
import { APPEND } from './append-events.js';

/**
 * Before 0.1.0 some migrations and read models were changed after they had landed. Databases of that time are not as
 * those made since, and would never become so, because what has run does not run again. This gives them what they
 * miss; it leaves alone what is there, so that a database without fault is not touched, nor what a later migration made.
 *
 * The overloads of `append_events` that such databases hold besides stay: instances of their time may be serving.
 */
export class Mended1764000000010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(SEARCH);
    await runner.query(LINKS);
    if (!(await hasAppend(runner))) await runner.query(APPEND);
    // Of 0006, which first came without it. The last, because writers wait from here to the end of the transaction.
    await runner.query('CREATE INDEX IF NOT EXISTS events_by_id ON events (organization_id, event_id)');
  }

  async down(): Promise<void> {
    // Nothing to take back: this is how 0001 to 0009 leave a database.
  }
}

/**
 * 0001 and 0004 installed `append_events` without `r_stream`, then with it: whose databases had run both have only the
 * first, and fail every write since.
 */
async function hasAppend(runner: QueryRunner): Promise<boolean> {
  const found = (await runner.query(`
    SELECT FROM pg_proc
    WHERE proname = 'append_events' AND 'r_stream' = ANY (proargnames) AND pg_function_is_visible(oid)
  `)) as unknown[];
  return found.length > 0;
}

// The indexes by which names are searched came into tables that stood: with rows as they should be, so that building
// them anew would be a waste. Trigrams as `searchIndexes` made them then, where the database has the extensions.
const SEARCH = /* sql */ `
  DO $$
  DECLARE
    operators name;
    one record;
    column_ text;
    number int;
  BEGIN
    SELECT n.nspname INTO operators FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
    WHERE e.extname = 'pg_trgm' AND EXISTS (SELECT FROM pg_extension WHERE extname = 'btree_gin');
    FOR one IN
      SELECT t.path, t.name, t.columns FROM (VALUES
        ('api_keys_v4', 'api_keys', ARRAY['name']),
        ('lists_v3', 'lists', ARRAY['name']),
        ('petitions_v3', 'petitions', ARRAY['name', 'title']),
        ('posts_v2', 'posts', ARRAY['name', 'title'])
      ) t(path, name, columns)
      WHERE to_regclass(format('%I.%I', t.path, t.name)) IS NOT NULL
        AND to_regclass(format('%I.%I', t.path, t.name || '_search_1')) IS NULL
    LOOP
      IF operators IS NOT NULL THEN
        EXECUTE format(
          'CREATE INDEX %I ON %I.%I USING gin (organization_id, %s)', one.name || '_search', one.path, one.name,
          (SELECT string_agg(format('%I %I.gin_trgm_ops', c.name, operators), ', ' ORDER BY c.turn)
           FROM unnest(one.columns) WITH ORDINALITY c(name, turn)));
      END IF;
      FOR column_, number IN SELECT * FROM unnest(one.columns) WITH ORDINALITY LOOP
        EXECUTE format('CREATE INDEX %I ON %I.%I (organization_id, lower(%I) text_pattern_ops)',
                       one.name || '_search_' || number, one.path, one.name, column_);
        EXECUTE format('ALTER INDEX %I.%I ALTER COLUMN 2 SET STATISTICS 0',
                       one.path, one.name || '_search_' || number);
      END LOOP;
    END LOOP;
  END $$;
`;

// The positions at which links begin and end came into tables that stood too, where 0.1.0 failed for want of them and
// its counters froze. These versions are served by nobody newer; an instance of 0.1.0 goes on by itself as soon as they
// are there. Without NOT NULL, for those who write without them.
const LINKS = /* sql */ `
  DO $$
  DECLARE
    table_ text;
  BEGIN
    FOR table_ IN
      SELECT name FROM unnest(ARRAY['petitions_v1.signatures', 'lists_v1.members']) name
      WHERE to_regclass(name) IS NOT NULL AND NOT EXISTS (
        SELECT FROM pg_attribute WHERE attrelid = to_regclass(name) AND attname = 'created_position')
    LOOP
      EXECUTE 'ALTER TABLE ' || table_ || ' ADD COLUMN created_position bigint, ADD COLUMN ended_position bigint';
      EXECUTE 'UPDATE ' || table_ || ' l SET
        created_position = (SELECT min(e.position) FROM events e
                            WHERE e.organization_id = l.organization_id AND e.stream_id = l.id),
        ended_position = CASE WHEN l.ended_at IS NOT NULL THEN coalesce(
          (SELECT max(e.position) FROM events e
           WHERE e.organization_id = l.organization_id AND e.stream_id = l.id AND e.version > 1),
          (SELECT min(e.position) FROM events e
           WHERE e.organization_id = l.organization_id AND e.type = ''ContactErased''
             AND e.recorded_at = l.ended_at)) END';
    END LOOP;
  END $$;
`;
