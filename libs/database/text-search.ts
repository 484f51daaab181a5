import { type Sql } from './database.js';

/** What a table's text can be searched by: how its rows are found without reading all of the organization's. */
export type TextSearch = {
  /** Whether an index finds this text anywhere in a column. */
  anywhere(this: void, text: string): boolean;
  /** Whether an index finds what a column begins with. */
  beginning: boolean;
};

/**
 * Statements for a projection's `tables`, after its CREATE TABLE: indexes by which `search` (libs/rpc) finds a text
 * in any of these columns (or expressions on them), of one organization, however many rows the others have.
 *
 * With the extensions pg_trgm and btree_gin a text is found anywhere. Texts without three
 * letters or digits in a row have no trigrams, and some databases cannot have the extensions: there a text is found
 * where a column begins with it. None of the indexes keeps samples of values, which may be personal.
 *
 * The trigrams' pending list stays: 70 µs a row instead of 590, and at its default 4 MB it costs a search 20 ms at most.
 *
 * Which extensions there are is asked when the tables are made: who installs them later rebuilds the projection.
 */
export function searchIndexes(table: string, columns: readonly string[]): string {
  const name = `${table}_search`;
  const isExpression = (column: string) => !/^\w+$/.test(column);
  const trigrams = columns.map((column) => `(${column.replaceAll('%', '%%')}) %1$I.gin_trgm_ops`);
  // The organization is column 1. Expressions have statistics of their own; plain columns have the table's.
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

/** A rebuild may have made other indexes: asked again after so long. */
const KNOWN_FOR_MS = 60_000;
const known = new WeakMap<Sql, Map<string, { at: number; search: TextSearch }>>();

/** @param table with its schema. @returns what `searchIndexes` made for it on this database. */
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
    // What counts as a letter is the database's locale: with "C" nothing beyond ASCII does.
    const [letters] = await sql.query<{ all: boolean }[]>(
      `SELECT cardinality(${operators}.show_trgm('жжж')) > 0 AS all`,
    );
    const trigram = letters!.all ? /[\p{L}\p{N}]{3}/u : /[a-z0-9]{3}/i;
    search.anywhere = (text) => trigram.test(text);
  }
  tables.set(table, { at: performance.now(), search });
  return search;
}
