import { type Sql } from './database.js';

// What statements name: columns with their types, functions with their parameters, and triggers. Not how a function
// works, nor what there is besides: a later version, which adds to the schema, may have migrated already.
const STANDING = `
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
  ORDER BY 1`;

/** What the database's schema has, a line for each thing, but for read models. */
export async function schemaOfDatabase(sql: Sql): Promise<string[]> {
  const rows = await sql.query<{ line: string }[]>(STANDING);
  return rows.map(({ line }) => line);
}

/** @returns what of `needed` (lines of `schemaOfDatabase`) the database has not. */
export async function missingFromSchema(sql: Sql, needed: readonly string[]): Promise<string[]> {
  const standing = new Set(await schemaOfDatabase(sql));
  return needed.filter((line) => !standing.has(line));
}
