import { type Sql } from './database.js';

// The names that statements depend on: columns with their types, sequences, functions with their parameters, triggers and
// indexes. Bodies of functions are not compared, and additions are fine: a later version may already have migrated.
const SCHEMA = `
  SELECT format('column %s.%s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod)) AS line
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE c.relkind = 'r' AND pg_table_is_visible(c.oid) AND c.relnamespace <> 'pg_catalog'::regnamespace
    AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT format('function %s(%s)', p.proname, pg_get_function_arguments(p.oid))
  FROM pg_proc p
  WHERE pg_function_is_visible(p.oid) AND p.pronamespace <> 'pg_catalog'::regnamespace AND NOT EXISTS (
    SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
  UNION ALL
  SELECT format('trigger %s of %s', t.tgname, t.tgrelid::regclass)
  FROM pg_trigger t
  WHERE pg_table_is_visible(t.tgrelid) AND NOT t.tgisinternal
  UNION ALL
  SELECT format('sequence %s', c.relname) FROM pg_class c
  WHERE c.relkind = 'S' AND pg_table_is_visible(c.oid) AND c.relnamespace <> 'pg_catalog'::regnamespace
  UNION ALL
  SELECT format('%s %s: %s', CASE WHEN i.indisunique THEN 'unique index' ELSE 'index' END, c.relname,
    replace(pg_get_indexdef(c.oid), format(' ON %I.', n.nspname), ' ON ') || coalesce(
      (SELECT string_agg(format('; ALTER INDEX %I ALTER COLUMN %s SET STATISTICS %s', c.relname, a.attnum, a.attstattarget), ''
         ORDER BY a.attnum)
       FROM pg_attribute a WHERE a.attrelid = c.oid AND coalesce(a.attstattarget, -1) >= 0), ''))
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE pg_table_is_visible(c.oid) AND n.nspname <> 'pg_catalog'
  ORDER BY 1`;

/** An index's definition, after its name. Other versions of PostgreSQL may format it differently. */
const DEFINITION = /: CREATE .*/;

/** The database's schema without the tables of projections, one line per object. */
export async function schemaOfDatabase(sql: Sql): Promise<string[]> {
  const rows = await sql.query<{ line: string }[]>(SCHEMA);
  return rows.map(({ line }) => line);
}

/** Parameter lists of functions that would fill a page. */
const LONG_PARAMETERS = /\(.{100,}\)$/;

export type Missing = {
  /** Short descriptions of the objects without which statements fail. */
  parts: string[];
  /** `CREATE INDEX` statements of the indexes without which statements are slow. */
  indexes: string[];
};

/** @returns the lines of `needed` (from `schemaOfDatabase`) that the database lacks. */
export async function missingFromSchema(sql: Sql, needed: readonly string[]): Promise<Missing> {
  const existing = new Set((await schemaOfDatabase(sql)).map((line) => line.replace(DEFINITION, '')));
  const missing = needed.filter((line) => !existing.has(line.replace(DEFINITION, '')));
  const [indexes, parts] = [true, false].map((isIndex) =>
    missing.filter((line) => line.startsWith('index ') === isIndex),
  );
  return {
    parts: parts!.map((line) =>
      line.replace(DEFINITION, '').replace(LONG_PARAMETERS, ' with the parameters of this version'),
    ),
    indexes: indexes!.map((line) => line.replace(/^.*?: /, '')),
  };
}
