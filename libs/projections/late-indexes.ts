import { type Sql } from '#libs/database';

// As `\d` would write them; without a target of its own a column's statistics are the default, which is -1 before PostgreSQL 17.
const DEFINITIONS = `
  SELECT c.oid::regclass::text AS name, pg_get_indexdef(c.oid) || coalesce(
    (SELECT string_agg(format('; ALTER INDEX %s ALTER COLUMN %s SET STATISTICS %s', c.oid::regclass, a.attnum, a.attstattarget), '')
     FROM pg_attribute a WHERE a.attrelid = c.oid AND coalesce(a.attstattarget, -1) >= 0), '') AS definition
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE c.relnamespace = to_regnamespace($1) AND NOT i.indisunique AND c.relname <> ALL ($2)
  ORDER BY c.relname`;

/**
 * Takes indexes away from the tables of a schema that holds nothing yet. Made of all rows at once they cost a third of what they
 * cost row by row.
 *
 * @param kept their names; those that hold keys stay too.
 * @returns the statements that make each.
 */
export async function takeIndexes(
  transaction: Sql,
  schema: string,
  kept: readonly string[],
): Promise<string[]> {
  // Names are written out where they are not found by the path.
  await transaction.query(`SELECT set_config('search_path', 'public', true)`);
  const indexes = await transaction.query<{ name: string; definition: string }[]>(DEFINITIONS, [
    schema,
    kept,
  ]);
  for (const { name } of indexes) await transaction.query(`DROP INDEX ${name}`);
  return indexes.map(({ definition }) => definition);
}
