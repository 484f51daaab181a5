import { type Sql } from './database.js';

/** Which text searches a table's indexes support, without reading all rows of the organization. */
export type TextSearch = {
  /** Whether an index finds this text anywhere in a column. */
  anywhere(this: void, text: string): boolean;
  /** Whether an index finds the beginning of a column. */
  beginning: boolean;
};

/**
 * Statements for a projection's `tables`, after its CREATE TABLE. They create indexes by which `search` finds a text
 * in any of these columns or expressions of one organization. The rows of other organizations do not slow it down.
 *
 * With the extensions pg_trgm and btree_gin, a text is found anywhere in a column. Texts without three consecutive letters
 * or digits have no trigrams, and some databases cannot have the extensions. Then a text is found at the beginning of a
 * column. No index keeps samples of values, which may be personal.
 *
 * The trigram index keeps its pending list: a row costs 70 µs instead of 590 µs, and a search at most 20 ms more at the
 * default of 4 MB.
 *
 * Extensions are detected when the tables are created. To use extensions installed later, rebuild the projection.
 */
export function searchIndexes(table: string, columns: readonly string[]): string {
  const name = `${table}_search`;
  const isExpression = (column: string) => !/^\w+$/.test(column);
  const trigrams = columns.map((column) => `(${column.replaceAll('%', '%%')}) %1$I.gin_trgm_ops`);
  // The organization is column 1. Only expressions have their own statistics; plain columns use the table's.
  const withoutSamples = columns.flatMap((column, index) =>
    isExpression(column) ? [`ALTER COLUMN ${index + 2} SET STATISTICS 0`] : [],
  );
  return `
    DO $do$
    DECLARE operators name;
    BEGIN
      SELECT n.nspname INTO operators FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
      WHERE e.extname = 'pg_trgm' AND EXISTS (SELECT FROM pg_extension WHERE extname = 'btree_gin');
      IF FOUND THEN
        EXECUTE format($index$
          CREATE INDEX ${name} ON ${table} USING gin (organization_id, ${trigrams.join(', ')})
        $index$, operators);
        ${withoutSamples.length > 0 ? `ALTER INDEX ${name} ${withoutSamples.join(', ')};` : ''}
      END IF;
    END $do$;
    ${columns
      .map(
        (column, index) => `
    CREATE INDEX ${name}_${index + 1} ON ${table} (organization_id, lower(${column}) text_pattern_ops);
    ALTER INDEX ${name}_${index + 1} ALTER COLUMN 2 SET STATISTICS 0;`,
      )
      .join('')}`;
}

/** How long the result is cached. A rebuild may create other indexes. */
const KNOWN_FOR_MS = 60_000;
const known = new WeakMap<Sql, Map<string, { at: number; search: TextSearch }>>();

/** @param table qualified by its schema. @returns the searches that the table's indexes from `searchIndexes` support. */
export async function textSearchOf(sql: Sql, table: string): Promise<TextSearch> {
  let tables = known.get(sql);
  if (!tables) known.set(sql, (tables = new Map<string, { at: number; search: TextSearch }>()));
  const before = tables.get(table);
  if (before && performance.now() - before.at < KNOWN_FOR_MS) return before.search;

  const [row] = await sql.query<{ beginning: boolean; operators: string | null }[]>(
    `SELECT count(*) > 0 AS beginning, (
       SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
       WHERE e.extname = 'pg_trgm' AND bool_or(m.amname = 'gin')
     ) AS operators
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
     WHERE i.indrelid = to_regclass($1) AND c.relname ~ '_search(_[0-9]+)?$'`,
    [table],
  );
  const { beginning, operators } = row!;
  const search: TextSearch = { anywhere: () => false, beginning };
  if (operators !== null) {
    // The database's locale decides which characters are letters. With "C", only those of ASCII are.
    const [letters] = await sql.query<{ all: boolean }[]>(
      `SELECT cardinality(${operators}.show_trgm('жжж')) > 0 AS all`,
    );
    const trigram = letters!.all ? /[\p{L}\p{N}]{3}/u : /[a-z0-9]{3}/i;
    search.anywhere = (text) => trigram.test(text);
  }
  tables.set(table, { at: performance.now(), search });
  return search;
}
