import { queryInTurn, queryWide, type Sql, textSearchOf } from '#libs/database';
import { Integer, isMoment, OneOf, Text, Timestamp } from './fields.js';
import { Input, invalid } from './input.js';

/** One page of a list operation. */
export type Page<Record> = {
  records: Record[];
  pagination: { cursor: string | null; hasMore: boolean };
};

const DEFAULT_LIMIT = 25;
const LARGEST_LIMIT = 100;

/** The filters that every list of records has whose records never change. */
abstract class CreationFilters extends Input {
  @Timestamp({ optional: true })
  createdAfter?: string;

  @Timestamp({ optional: true })
  createdBefore?: string;
}

/** The filters that every other list of records has. */
export abstract class TimeFilters extends CreationFilters {
  @Timestamp({ optional: true })
  updatedAfter?: string;

  @Timestamp({ optional: true })
  updatedBefore?: string;
}

/** The input of a list operation; `PageInput('email')` may be sorted by e-mail too. */
export function PageInput(...sortable: string[]) {
  return Paged(TimeFilters, ...sortable);
}

/** The input of a list operation whose filters another operation has too. */
export function Paged<Filters extends TimeFilters>(
  filters: abstract new () => Filters,
  ...sortable: string[]
) {
  return listingOf(filters, ['createdAt', 'updatedAt', ...sortable]);
}

/** The input of a list operation whose records never change. */
export function CreatedPageInput() {
  return listingOf(CreationFilters, ['createdAt']);
}

function listingOf<Filters extends CreationFilters>(
  filters: abstract new () => Filters,
  sortable: readonly string[],
) {
  abstract class Paging extends (filters as abstract new () => CreationFilters) {
    @Integer({ min: 1, max: LARGEST_LIMIT, default: DEFAULT_LIMIT, description: 'Records a page.' })
    limit!: number;

    @Text({ max: 2_000, optional: true, description: '`pagination.cursor` of the page before.' })
    cursor?: string;

    @OneOf(sortable.flatMap((name) => [name, `-${name}`]), {
      default: '-createdAt',
      description: 'A leading minus means descending.',
    })
    sort!: string;
  }
  return Paging as abstract new () => Paging & Filters;
}

type Listing = InstanceType<ReturnType<typeof CreatedPageInput>> & Partial<TimeFilters>;

/** A condition of a list: SQL with `?` in place of the value. */
export type Condition = {
  sql: string;
  value: unknown;
  /** That an index finds its rows, and that they are few (one, say): then nothing else is tried. */
  selective?: boolean;
  /** Of `search`: the columns, and what is searched. */
  search?: { columns: readonly string[]; q: string };
};

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
 * @param list the table (with `organization_id`, `id`, `created_at`, `updated_at`), and which of its
 *   columns each sort field means; every one of them needs an index on (organization_id, column, id).
 *   `bytes`: SQL, how many bytes of a row leave PostgreSQL. It is asked of rows that are not on the page too, so it
 *   must not read them whole: octet_length of text and bytea does not, of anything else keep a number.
 *   `within`: a condition on the column between, where the indexes are on (organization_id, that column, sort column, id).
 *   `columns`: SQL, those that are wanted, the sort columns and the id among them; all when left out.
 */
export async function findPage<Found extends { id: string }>(
  sql: Sql,
  input: Listing,
  list: {
    table: string;
    bytes: string;
    columns?: string;
    within?: Condition;
    sortColumns?: { [field: string]: { column: string; type: 'text' | 'timestamptz' } };
    conditions?: readonly (Condition | undefined)[];
  },
): Promise<Page<Found>> {
  const descending = input.sort.startsWith('-');
  const field = descending ? input.sort.slice(1) : input.sort;
  const { column, type } = { ...TIME_COLUMNS, ...list.sortColumns }[field]!;
  const direction = descending ? 'DESC' : 'ASC';

  const values: unknown[] = [input.organizationId];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const inOrder = ['organization_id = $1'];
  const filters: string[] = [];
  const times = [
    compare('created_at > ?', input.createdAfter),
    compare('created_at < ?', input.createdBefore),
    compare('updated_at > ?', input.updatedAfter),
    compare('updated_at < ?', input.updatedBefore),
  ];
  for (const time of times) {
    if (time) (time.sql.startsWith(column) ? inOrder : filters).push(time.sql.replace('?', bind(time.value)));
  }
  if (list.within) inOrder.push(list.within.sql.replaceAll('?', bind(list.within.value)));
  let selective = false;
  for (const given of list.conditions ?? []) {
    if (!given) continue;
    const condition = given.search ? await searchBy(sql, list.table, given.search) : given;
    selective ||= given.selective ?? false;
    filters.push(condition.sql.replaceAll('?', bind(condition.value)));
  }
  if (input.cursor !== undefined) {
    const [value, id] = readCursor(input.cursor, input.sort);
    inOrder.push(`(${column}, id) ${descending ? '<' : '>'} (${bind(value)}::${type}, ${bind(id)}::uuid)`);
  }
  const where = [...inOrder, ...filters].join(' AND ');
  const order = `ORDER BY ${column} ${direction}, id ${direction}`;
  const all = `SELECT * FROM ${list.table} WHERE ${where}`;
  const wanted = input.limit + 1;
  const limit = bind(wanted);
  let text = `${all} ${order} LIMIT ${limit}`;
  // An export's page comes to most rows sooner or later: it is read in order.
  if (filters.length > 0 && input.limit <= LARGEST_LIMIT) {
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
  // Wide columns are read where they are stored only for the rows that the outermost SELECT answers.
  const page = `SELECT ${list.columns === undefined ? '*' : `${list.columns}, found`} FROM (
       SELECT *, row_number() OVER so_far AS place, sum(${list.bytes}) OVER so_far AS bytes_so_far,
         count(*) OVER () AS found
       FROM (${text}) page WINDOW so_far AS (${order} ROWS UNBOUNDED PRECEDING)
     ) page
     WHERE place = 1 OR (place <= ${bind(input.limit)} AND bytes_so_far <= ${LARGEST_PAGE_BYTES}) ORDER BY place`;
  const kind = input.limit > LARGEST_LIMIT ? 'export' : 'page';
  // What reads no more than its own rows costs what a single record costs, and is spared the round trip; not the turn:
  // 380 pages of 1 MiB at once had every connection for more than 5 s.
  const isShort = kind === 'page' && !list.within && (filters.length === 0 || selective);
  const records = await (isShort
    ? queryInTurn<Found & { found: string }>(sql, input.organizationId, page, values)
    : queryWide<Found & { found: string }>(sql, input.organizationId, kind, page, values));

  const hasMore = records.length > 0 && Number(records[0]!.found) > records.length;
  const last = records.at(-1);
  return {
    records,
    pagination: {
      cursor: hasMore && last ? writeCursor(input.sort, last[column as keyof Found], last.id) : null,
      hasMore,
    },
  };
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

/** For the descriptions of fields that `search` is made of. */
export const SEARCH_RULE =
  'Found anywhere where it has three letters or digits in a row, else where one of them begins with it.';

async function searchBy(
  sql: Sql,
  table: string,
  { columns, q }: NonNullable<Condition['search']>,
): Promise<Condition> {
  const indexes = await textSearchOf(sql, table);
  if (indexes.anywhere(q) || !indexes.beginning) return anywhere(columns, q);
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

function writeCursor(sort: string, value: unknown, id: string): string {
  const text = value instanceof Date ? value.toISOString() : value;
  return Buffer.from(JSON.stringify([sort, text, id])).toString('base64url');
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a text can be the id of a record at all: what cannot is "not found" without asking. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

function readCursor(cursor: string, sort: string): [string, string] {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    parts = undefined;
  }
  if (Array.isArray(parts) && parts.length === 3) {
    const [sorted, value, id] = parts as unknown[];
    if (typeof sorted === 'string' && typeof value === 'string' && typeof id === 'string' && isId(id)) {
      if (sorted !== sort) {
        throw invalid([
          { path: 'cursor', message: `comes from a list sorted by ${sorted}: keep the same sort` },
        ]);
      }
      const isTime = sort.endsWith('createdAt') || sort.endsWith('updatedAt');
      if (!value.includes('\0') && (!isTime || isMoment(value))) return [value, id];
    }
  }
  throw invalid([{ path: 'cursor', message: 'is malformed: give the cursor of the page before, unchanged' }]);
}
