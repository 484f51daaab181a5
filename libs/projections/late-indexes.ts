import { type Sql } from '#libs/database';

// Definitions as `\d` shows them. A column without its own statistics target has the default, which is -1 before PostgreSQL 17.
const DEFINITIONS = `
  SELECT c.oid::regclass::text AS name, pg_get_indexdef(c.oid) || coalesce(
    (SELECT string_agg(format('; ALTER INDEX %s ALTER COLUMN %s SET STATISTICS %s', c.oid::regclass, a.attnum, a.attstattarget), '')
     FROM pg_attribute a WHERE a.attrelid = c.oid AND coalesce(a.attstattarget, -1) >= 0), '') AS definition
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE c.relnamespace = to_regnamespace($1) AND NOT i.indisunique AND c.relname <> ALL ($2)
  ORDER BY c.relname`;

/**
 * Drops the indexes of a schema whose tables are still empty. Creating them after the rows costs a third of maintaining
 * them row by row.
 *
 * @param kept the names of indexes to keep. Unique indexes are kept too.
 * @returns the statements that create the dropped indexes.
 */
export async function takeIndexes(
  transaction: Sql,
  schema: string,
  kept: readonly string[],
): Promise<string[]> {
  // With this path, names outside `public` are qualified.
  await transaction.query(`SELECT set_config('search_path', 'public', true)`);
  const indexes = await transaction.query<{ name: string; definition: string }[]>(DEFINITIONS, [
    schema,
    kept,
  ]);
  for (const { name } of indexes) await transaction.query(`DROP INDEX ${name}`);
  return indexes.map(({ definition }) => definition);
}
