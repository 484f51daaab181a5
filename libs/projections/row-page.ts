import {
  queryInTurn,
  queryWide,
  SharedStatement,
  type Sql,
  textSearchOf,
  type WideQuery,
} from '#libs/database';

/** The rows of a page. */
export type Listing = {
  organizationId: string;
  limit: number;
  /** The field to sort by, preceded by a minus for descending order. */
  sort: string;
  /** Only rows after the one with this value of the sort column, as text, and this id. */
  after?: readonly [value: string, id: string] | undefined;
  /** The value for `within` of the table. */
  within?: string;
  /** Moments as texts that PostgreSQL can parse. */
  createdAfter?: string;
  createdBefore?: string;
  updatedAfter?: string;
  updatedBefore?: string;
};

/** `next`: the `after` of the next page; undefined if this is the last page. */
export type RowPage<Row> = { rows: Row[]; next: readonly [value: string, id: string] | undefined };

/** A comparison with one value: SQL with `?` in place of the value. */
export type Comparison = {
  sql: string;
  value: unknown;
  /** An index finds its rows, and they are few, for example one. Then the rows are always found by the condition. */
  selective?: boolean;
  /**
   * Set by `search`: the columns and the text. `elsewhere` is set if the columns belong to another table;
   * `idColumn` refers to its rows. Rows that meet `orElse` are found too.
   */
  search?: {
    columns: readonly string[];
    q: string;
    elsewhere?: { table: string; idColumn: string };
    orElse?: Comparison | undefined;
  };
};

/** Adds a value to a statement. @returns its parameter, such as `$2`. */
export type Bind = (value: unknown) => string;

/** A condition of a list. One with several values writes its own SQL, in which $1 is the organization. */
export type Condition = Comparison | { write: (bind: Bind) => string };

/** A table to list. It has `organization_id`, `id`, `created_at`, and `updated_at` if that is a sort field. */
export type ListedTable = {
  table: string;
  /**
   * SQL for the size of a row's result in bytes. It is also evaluated for rows beyond the page, so it must not
   * read large values: octet_length of text and bytea does not; for other types, store the size in a column.
   */
  bytes: string;
  /** The maximum size of a row in bytes, if known. */
  widest?: number;
  /** SQL for the columns to select, including the sort columns and the id. Default: all. */
  columns?: string;
  /** A condition on one more column, if the indexes are on (organization_id, that column, sort column, id). */
  within?: { sql: string; type: 'uuid' | 'text' };
  /** The column for each sort field. Each needs an index on (organization_id, column, id). */
  sortColumns?: { [field: string]: { column: string; type: 'text' | 'timestamptz' } };
};

const TIMES = ['createdAfter', 'createdBefore', 'updatedAfter', 'updatedBefore'] as const;

/** Rows in the page's order that are examined for each row of the page. */
const WALKED_PER_RECORD = 100;

/**
 * The maximum size of a page, in bytes of PostgreSQL's result. A page ends early if the next record would
 * exceed it. A record can have 256 KiB of content, so 100 records would take 25 MB.
 */
export const LARGEST_PAGE_BYTES = 1024 * 1024;

/**
 * Returns a keyset page. It starts after the last row of the previous page, by the sort column and the id. So
 * page 10,000 costs as much as page 1, and no row is skipped or repeated while records are added. A page has at
 * least one record if any is left, and not more than fit into `LARGEST_PAGE_BYTES`.
 *
 * Conditions that most rows meet are best checked in the order of the page, and those that few rows meet by their own
 * index. PostgreSQL guesses which, and a wrong guess reads every row of the organization. So the statement does
 * both. It examines the next rows in order, `WALKED_PER_RECORD` for each record of the page. Only if these do
 * not fill the page, it finds and sorts all rows that meet the conditions.
 *
 * @param list declare it once as a constant, because concurrent requests for the same object share a statement.
 * @param choice `conditions` filter the rows. `kind`: pages of an export are longer and visit most rows anyway,
 * so they are
 *   read in order.
 */
export async function findRows<Row extends { id: string }>(
  sql: Sql,
  listing: Listing,
  list: ListedTable,
  choice: { conditions?: readonly (Condition | undefined)[]; kind?: WideQuery } = {},
): Promise<RowPage<Row>> {
  const { kind = 'page', conditions = [] } = choice;
  const wanted = listing.limit + 1;
  // A result that is small in any case is cut here, because window functions would double PostgreSQL's time.
  const isCutHere = list.widest !== undefined && wanted * list.widest <= 2 * LARGEST_PAGE_BYTES;
  const { column } = orderOf(listing, list);
  const isWhole = kind === 'page' && isCutHere && !TIMES.some((time) => listing[time] !== undefined);
  const answered =
    isWhole && conditions.every((condition) => condition === undefined)
      ? await findShared<Row>(sql, listing, list, wanted)
      : await findAlone<Row>(sql, listing, list, { conditions, kind, wanted, isCutHere });

  const rows = isCutHere ? fitting(answered, listing.limit) : [...answered];
  const last = rows.at(-1);
  const found = isCutHere ? answered.length : Number(answered.at(-1)?.found);
  const hasMore = last !== undefined && found > rows.length;
  return { rows, next: hasMore ? [textOf(last[column as keyof Row]), last.id] : undefined };
}

type Found<Row> = Row & { found: string; bytes: number };

/** Statements for pages without conditions: see `SharedStatement`. */
const shared = new WeakMap<ListedTable, Map<string, SharedStatement<Found<object>>>>();

async function findShared<Row>(
  sql: Sql,
  listing: Listing,
  list: ListedTable,
  wanted: number,
): Promise<readonly Found<Row>[]> {
  const { organizationId, sort, after, within } = listing;
  let statements = shared.get(list);
  if (!statements) shared.set(list, (statements = new Map<string, SharedStatement<Found<object>>>()));
  const key = after ? sort : `${sort}, from its beginning`;
  let statement = statements.get(key);
  if (!statement) statements.set(key, (statement = sharedStatement(listing, list)));
  const values = [...(within === undefined ? [] : [within]), ...(after ?? [])];
  return (await statement.query(sql, organizationId, wanted, values)) as readonly Found<Row>[];
}

function sharedStatement(listing: Listing, list: ListedTable): SharedStatement<Found<object>> {
  const { column, type, order, outer, isBehind } = orderOf(listing, list);
  const types = [...(list.within ? [list.within.type] : []), ...(listing.after ? [type, 'uuid'] : [])];
  const page = (values: readonly string[]) => {
    const left = [...values];
    const where = ['organization_id = $1'];
    if (list.within) where.push(list.within.sql.replaceAll('?', left.shift()!));
    if (listing.after) where.push(`(${column}, id) ${isBehind} (${left.join(', ')})`);
    return `SELECT ${list.columns ?? '*'}, ${list.bytes} AS bytes
      FROM (SELECT * FROM ${list.table} WHERE ${where.join(' AND ')} ${order} LIMIT $2) page ${outer}`;
  };
  const parameters = types.map((of, n) => `$${n + 3}::${of}`);
  const asked = types.map((_, n) => `value${n}`);
  const together = `SELECT asked.n::int AS asked, page.*
    FROM unnest(${parameters.map((parameter) => `${parameter}[]`).join(', ')}) WITH ORDINALITY AS asked(${[...asked, 'n'].join(', ')})
    CROSS JOIN LATERAL (${page(asked.map((name) => `asked.${name}`))}) page
    ${outer.replace('ORDER BY', 'ORDER BY asked.n,')}`;
  return new SharedStatement(page(parameters), together, list.within !== undefined);
}

async function findAlone<Row>(
  sql: Sql,
  listing: Listing,
  list: ListedTable,
  choice: {
    conditions: readonly (Condition | undefined)[];
    kind: WideQuery;
    wanted: number;
    isCutHere: boolean;
  },
): Promise<readonly Found<Row>[]> {
  const { kind, wanted, isCutHere } = choice;
  const { column, type, order, outer, isBehind } = orderOf(listing, list);
  const values: unknown[] = [listing.organizationId];
  const bind: Bind = (value) => `$${values.push(value)}`;
  const inOrder = ['organization_id = $1'];
  const filters: string[] = [];
  for (const time of timesOf(listing)) {
    if (time) (time.sql.startsWith(column) ? inOrder : filters).push(time.sql.replace('?', bind(time.value)));
  }
  if (list.within) inOrder.push(list.within.sql.replaceAll('?', bind(listing.within)));
  filters.push(...(await writeConditions(sql, list.table, choice.conditions, bind)));
  const selective = choice.conditions.some((one) => one && 'selective' in one && one.selective);
  if (listing.after) {
    const [value, id] = listing.after;
    inOrder.push(`(${column}, id) ${isBehind} (${bind(value)}::${type}, ${bind(id)}::uuid)`);
  }
  const where = [...inOrder, ...filters].join(' AND ');
  const all = `SELECT * FROM ${list.table} WHERE ${where}`;
  const limit = bind(wanted);
  let text = `${all} ${order} LIMIT ${limit}`;
  if (filters.length > 0 && kind === 'page') {
    // OFFSET 0 prevents PostgreSQL from walking in order here too.
    const found = (condition: string) => `SELECT * FROM (${all} ${condition} OFFSET 0) found`;
    text = selective
      ? `${found('')} ${order} LIMIT ${limit}`
      : `WITH near AS MATERIALIZED (
           SELECT * FROM (
             SELECT * FROM ${list.table} WHERE ${inOrder.join(' AND ')} ${order}
             LIMIT ${bind(WALKED_PER_RECORD * wanted)}
           ) walked WHERE ${filters.join(' AND ')} ${order} LIMIT ${limit}
         )
         (SELECT * FROM near WHERE (SELECT count(*) FROM near) = ${limit})
         UNION ALL
         (${found(`AND (SELECT count(*) FROM near) < ${limit}`)} ${order} LIMIT ${limit})
         ${order}`;
  }
  const columns = list.columns ?? '*';
  const page = isCutHere
    ? `SELECT ${columns}, ${list.bytes} AS bytes FROM (${text}) page ${outer}`
    : // Large columns are fetched only for the rows that the outermost SELECT returns.
      `SELECT ${columns === '*' ? '*' : `${columns}, found`} FROM (
         SELECT *, row_number() OVER so_far AS place, sum(${list.bytes}) OVER so_far AS bytes_so_far,
           count(*) OVER () AS found
         FROM (${text}) page WINDOW so_far AS (${order} ROWS UNBOUNDED PRECEDING)
       ) page
       WHERE place = 1 OR (place <= ${bind(listing.limit)} AND bytes_so_far <= ${LARGEST_PAGE_BYTES}) ORDER BY place`;
  // A statement that reads only its own rows is as cheap as one for a single record, and needs no transaction.
  // It still has to wait its turn: 380 concurrent pages of 1 MiB occupied every connection for more than 5 s.
  const isShort = kind === 'page' && !list.within && (filters.length === 0 || selective);
  return isShort
    ? queryInTurn<Found<Row>>(sql, listing.organizationId, page, values)
    : queryWide<Found<Row>>(sql, listing.organizationId, kind, page, values);
}

/**
 * Counts the rows that `findRows` finds on all pages together.
 *
 * @param most counting stops at this number.
 */
export async function countRows(
  sql: Sql,
  listing: Pick<Listing, 'organizationId' | (typeof TIMES)[number]>,
  table: string,
  { conditions, most }: { conditions: readonly (Condition | undefined)[]; most: number },
): Promise<number> {
  const values: unknown[] = [listing.organizationId];
  const bind: Bind = (value) => `$${values.push(value)}`;
  const where = await writeConditions(sql, table, [...timesOf(listing), ...conditions], bind);
  const text = `
    SELECT count(*)::int AS count FROM (
      SELECT FROM ${table} WHERE ${['organization_id = $1', ...where].join(' AND ')} LIMIT ${bind(most)}
    ) AS found`;
  const [row] = await queryWide<{ count: number }>(sql, listing.organizationId, 'page', text, values);
  return row!.count;
}

function timesOf(listing: Pick<Listing, (typeof TIMES)[number]>): (Comparison | undefined)[] {
  return [
    compare('created_at > ?', listing.createdAfter),
    compare('created_at < ?', listing.createdBefore),
    compare('updated_at > ?', listing.updatedAfter),
    compare('updated_at < ?', listing.updatedBefore),
  ];
}

async function writeConditions(
  sql: Sql,
  table: string,
  conditions: readonly (Condition | undefined)[],
  bind: Bind,
): Promise<string[]> {
  const written: string[] = [];
  for (const given of conditions) {
    if (!given) continue;
    if ('write' in given) {
      written.push(`(${given.write(bind)})`);
      continue;
    }
    const condition = given.search
      ? await searchBy(sql, given.search.elsewhere?.table ?? table, given.search)
      : given;
    const alternatives = [condition, given.search?.orElse].filter((one) => one !== undefined);
    written.push(
      `(${alternatives.map(({ sql: text, value }) => text.replaceAll('?', bind(value))).join(' OR ')})`,
    );
  }
  return written;
}

function orderOf({ sort }: Listing, list: ListedTable) {
  const descending = sort.startsWith('-');
  const { column, type } = { ...TIME_COLUMNS, ...list.sortColumns }[descending ? sort.slice(1) : sort]!;
  const direction = descending ? 'DESC' : 'ASC';
  const by = (row: string) => `ORDER BY ${row}${column} ${direction}, ${row}id ${direction}`;
  // Qualified, because `outer` would otherwise sort by the selected expression of the same name.
  return { column, type, order: by(''), outer: by('page.'), isBehind: descending ? '<' : '>' };
}

/** The first rows that fit into a page, but at least one. */
function fitting<Row extends { bytes: number }>(rows: readonly Row[], limit: number): Row[] {
  let bytes = 0;
  const end = rows.findIndex((row, n) => {
    bytes += row.bytes;
    return n === limit || (n > 0 && bytes > LARGEST_PAGE_BYTES);
  });
  return end === -1 ? [...rows] : rows.slice(0, end);
}

const TIME_COLUMNS = {
  createdAt: { column: 'created_at', type: 'timestamptz' },
  updatedAt: { column: 'updated_at', type: 'timestamptz' },
} as const;

/** A condition, or undefined if the filter was not given. */
export function compare(sql: string, value: unknown): Comparison | undefined {
  return value === undefined ? undefined : { sql, value };
}

/**
 * The condition for `q`: one of the columns contains the text, ignoring case. The indexes that `searchIndexes`
 * (libs/database) created on these columns determine whether it is found anywhere or only at the beginning.
 */
export function search(
  columns: readonly string[],
  q: string | undefined,
  orElse?: Comparison,
): Comparison | undefined {
  return q === undefined ? undefined : { ...anywhere(columns, q), search: { columns, q, orElse } };
}

/** The same in another table, to whose rows `idColumn` refers. @param table qualified by its schema. */
export function searchElsewhere(
  table: string,
  idColumn: string,
  columns: readonly string[],
  q: string | undefined,
): Condition | undefined {
  const condition = search(columns, q);
  return condition && { ...condition, search: { ...condition.search!, elsewhere: { table, idColumn } } };
}

/** Part of the description of every field that `search` uses. */
export const SEARCH_RULE =
  'Three letters or digits in a row match anywhere; anything shorter matches only the beginning.';

async function searchBy(
  sql: Sql,
  table: string,
  { columns, q, elsewhere }: NonNullable<Comparison['search']>,
): Promise<Comparison> {
  const indexes = await textSearchOf(sql, table);
  const isAnywhere = indexes.anywhere(q) || !indexes.beginning;
  const condition = isAnywhere ? anywhere(columns, q) : atTheBeginning(columns, q);
  if (!elsewhere) return condition;
  const found = `SELECT organization_id, id FROM ${table} WHERE organization_id = $1 AND ${condition.sql}`;
  return { ...condition, sql: `(organization_id, ${elsewhere.idColumn}) IN (${found})` };
}

function atTheBeginning(columns: readonly string[], q: string): Comparison {
  const conditions = columns.map((column) => `lower(${column}) LIKE lower(?)`);
  return { sql: `(${conditions.join(' OR ')})`, value: `${literal(q)}%` };
}

function anywhere(columns: readonly string[], q: string): Comparison {
  return { sql: `(${columns.map((column) => `${column} ILIKE ?`).join(' OR ')})`, value: `%${literal(q)}%` };
}

/** Escapes a text for LIKE. */
function literal(q: string): string {
  return q.replace(/[\\%_]/g, '\\$&');
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : (value as string);
}
