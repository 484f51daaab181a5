import {
  queryInTurn,
  queryWide,
  SharedStatement,
  type Sql,
  textSearchOf,
  type WideQuery,
} from '#libs/database';

/** Which rows a page has. */
export type Listing = {
  organizationId: string;
  /** Rows at most. */
  limit: number;
  /** A field that rows are sorted by, after a minus if from the last one on. */
  sort: string;
  /** Only what comes after a row with this value of the sort column, as text, and this id. */
  after?: readonly [value: string, id: string] | undefined;
  /** Of a table whose rows are listed `within` something: within what. */
  within?: string;
  /** Moments as text that PostgreSQL reads. */
  createdAfter?: string;
  createdBefore?: string;
  updatedAfter?: string;
  updatedBefore?: string;
};

/** `next`: what the next page comes `after`; undefined where there is none. */
export type RowPage<Row> = { rows: Row[]; next: readonly [value: string, id: string] | undefined };

/** A condition of a list: SQL with `?` in place of the value. */
export type Condition = {
  sql: string;
  value: unknown;
  /** That an index finds its rows, and that they are few (one, say): then nothing else is tried. */
  selective?: boolean;
  /** Of `search`: the columns, and what is searched; where they are another table's, that, and the column here with its ids. */
  search?: { columns: readonly string[]; q: string; elsewhere?: { table: string; idColumn: string } };
};

/** A table that is listed: one with `organization_id`, `id`, `created_at` and, where that is sorted by, `updated_at`. */
export type ListedTable = {
  table: string;
  /**
   * SQL: how many bytes of a row leave PostgreSQL. It is asked of rows that are not on the page too, so it must not read
   * them whole: octet_length of text and bytea does not, of anything else keep a number.
   */
  bytes: string;
  /** How many a row has at most, where that is known. */
  widest?: number;
  /** SQL: those that are wanted, the sort columns and the id among them; all when left out. */
  columns?: string;
  /** A condition on the column between, where the indexes are on (organization_id, that column, sort column, id). */
  within?: { sql: string; type: 'uuid' | 'text' };
  /** Which column each sort field means; every one needs an index on (organization_id, column, id). */
  sortColumns?: { [field: string]: { column: string; type: 'text' | 'timestamptz' } };
};

const TIMES = ['createdAfter', 'createdBefore', 'updatedAfter', 'updatedBefore'] as const;

/** Rows in the order of the page that are looked through for each one that it may have. */
const WALKED_PER_RECORD = 100;

/**
 * Of a page, in bytes of what PostgreSQL sends: it ends early where the next record would go beyond. Records have
 * 10 KB of text and more, content 256 KiB: 100 of them were 25 MB.
 */
export const LARGEST_PAGE_BYTES = 1024 * 1024;

/**
 * A keyset page: each page starts behind the last row of the one before, by the sort column and the id, so
 * that page 10,000 costs what page 1 costs and nothing is skipped or repeated while records are added. It has at least
 * one record where there is one, and no more than fit into `LARGEST_PAGE_BYTES`.
 *
 * Conditions that most rows meet are best looked for in the order of the page, those that none meets through their own
 * index; PostgreSQL guesses which, and where it guesses wrong it reads every row of the organization. So both are
 * done: the next rows in order are looked through, `WALKED_PER_RECORD` for each record of the page, and only where these
 * do not fill it all rows that meet the conditions are found and sorted, in the same statement.
 *
 * @param list what is listed. Declared once, because what is asked for at the same moment of one such is asked for together.
 * @param choice `conditions`: which of its rows. `kind`: an export's page may be longer, and comes to most rows sooner or
 *   later: it is read in order.
 */
export async function findRows<Row extends { id: string }>(
  sql: Sql,
  listing: Listing,
  list: ListedTable,
  choice: { conditions?: readonly (Condition | undefined)[]; kind?: WideQuery } = {},
): Promise<RowPage<Row>> {
  const { kind = 'page', conditions = [] } = choice;
  const wanted = listing.limit + 1;
  // Where all that might come is little, the page is cut here: windows take PostgreSQL as long as all the rest of a page.
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

/** Whole tables, page by page: see `SharedStatement`. */
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
  const bind = (value: unknown) => `$${values.push(value)}`;
  const inOrder = ['organization_id = $1'];
  const filters: string[] = [];
  const times = [
    compare('created_at > ?', listing.createdAfter),
    compare('created_at < ?', listing.createdBefore),
    compare('updated_at > ?', listing.updatedAfter),
    compare('updated_at < ?', listing.updatedBefore),
  ];
  for (const time of times) {
    if (time) (time.sql.startsWith(column) ? inOrder : filters).push(time.sql.replace('?', bind(time.value)));
  }
  if (list.within) inOrder.push(list.within.sql.replaceAll('?', bind(listing.within)));
  let selective = false;
  for (const given of choice.conditions) {
    if (!given) continue;
    const condition = given.search
      ? await searchBy(sql, given.search.elsewhere?.table ?? list.table, given.search)
      : given;
    selective ||= given.selective ?? false;
    filters.push(condition.sql.replaceAll('?', bind(condition.value)));
  }
  if (listing.after) {
    const [value, id] = listing.after;
    inOrder.push(`(${column}, id) ${isBehind} (${bind(value)}::${type}, ${bind(id)}::uuid)`);
  }
  const where = [...inOrder, ...filters].join(' AND ');
  const all = `SELECT * FROM ${list.table} WHERE ${where}`;
  const limit = bind(wanted);
  let text = `${all} ${order} LIMIT ${limit}`;
  if (filters.length > 0 && kind === 'page') {
    // OFFSET 0 keeps PostgreSQL from walking in order here too.
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
    : // Wide columns are read where they are stored only for the rows that the outermost SELECT answers.
      `SELECT ${columns === '*' ? '*' : `${columns}, found`} FROM (
         SELECT *, row_number() OVER so_far AS place, sum(${list.bytes}) OVER so_far AS bytes_so_far,
           count(*) OVER () AS found
         FROM (${text}) page WINDOW so_far AS (${order} ROWS UNBOUNDED PRECEDING)
       ) page
       WHERE place = 1 OR (place <= ${bind(listing.limit)} AND bytes_so_far <= ${LARGEST_PAGE_BYTES}) ORDER BY place`;
  // What reads no more than its own rows costs what a single record costs, and is spared the transaction; not the turn:
  // 380 pages of 1 MiB at once had every connection for more than 5 s.
  const isShort = kind === 'page' && !list.within && (filters.length === 0 || selective);
  return isShort
    ? queryInTurn<Found<Row>>(sql, listing.organizationId, page, values)
    : queryWide<Found<Row>>(sql, listing.organizationId, kind, page, values);
}

/** What rows are sorted by. */
function orderOf({ sort }: Listing, list: ListedTable) {
  const descending = sort.startsWith('-');
  const { column, type } = { ...TIME_COLUMNS, ...list.sortColumns }[descending ? sort.slice(1) : sort]!;
  const direction = descending ? 'DESC' : 'ASC';
  const by = (row: string) => `ORDER BY ${row}${column} ${direction}, ${row}id ${direction}`;
  // By its bare name, a column that is answered in another form would be sorted by that, anew.
  return { column, type, order: by(''), outer: by('page.'), isBehind: descending ? '<' : '>' };
}

/** The first rows, one at least, as far as they are no more than a page may be. */
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

/** A condition, or none where the filter was not given. */
export function compare(sql: string, value: unknown): Condition | undefined {
  return value === undefined ? undefined : { sql, value };
}

/**
 * The condition of `q`: the text in one of the columns, whatever its case; where, the indexes decide that
 * `searchIndexes` (libs/database) made of the same columns.
 */
export function search(columns: readonly string[], q: string | undefined): Condition | undefined {
  return q === undefined ? undefined : { ...anywhere(columns, q), search: { columns, q } };
}

/** The same in another table, whose rows are named by a column of this one. @param table with its schema. */
export function searchElsewhere(
  table: string,
  idColumn: string,
  columns: readonly string[],
  q: string | undefined,
): Condition | undefined {
  const condition = search(columns, q);
  return condition && { ...condition, search: { ...condition.search!, elsewhere: { table, idColumn } } };
}

/** For the descriptions of fields that `search` is made of. */
export const SEARCH_RULE =
  'Three letters or digits in a row match anywhere; anything shorter matches only the beginning.';

async function searchBy(
  sql: Sql,
  table: string,
  { columns, q, elsewhere }: NonNullable<Condition['search']>,
): Promise<Condition> {
  const indexes = await textSearchOf(sql, table);
  const isAnywhere = indexes.anywhere(q) || !indexes.beginning;
  const condition = isAnywhere ? anywhere(columns, q) : atTheBeginning(columns, q);
  if (!elsewhere) return condition;
  const found = `SELECT organization_id, id FROM ${table} WHERE organization_id = $1 AND ${condition.sql}`;
  return { ...condition, sql: `(organization_id, ${elsewhere.idColumn}) IN (${found})` };
}

function atTheBeginning(columns: readonly string[], q: string): Condition {
  const conditions = columns.map((column) => `lower(${column}) LIKE lower(?)`);
  return { sql: `(${conditions.join(' OR ')})`, value: `${literal(q)}%` };
}

function anywhere(columns: readonly string[], q: string): Condition {
  return { sql: `(${columns.map((column) => `${column} ILIKE ?`).join(' OR ')})`, value: `%${literal(q)}%` };
}

/** A text for LIKE that means nothing but itself. */
function literal(q: string): string {
  return q.replace(/[\\%_]/g, '\\$&');
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : (value as string);
}
