import { type Sql } from '#libs/database';
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
export type Condition = { sql: string; value: unknown };

/**
 * A keyset page: each page starts behind the last row of the one before, by the sort column and the id, so
 * that page 10,000 costs what page 1 costs and nothing is skipped or repeated while records are added.
 *
 * @param list the table (with `organization_id`, `id`, `created_at`, `updated_at`), and which of its
 *   columns each sort field means; every one of them needs an index on (organization_id, column, id).
 */
export async function findPage<Found extends { id: string }>(
  sql: Sql,
  input: Listing,
  list: {
    table: string;
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
  const where = ['organization_id = $1'];
  const conditions = [
    compare('created_at > ?', input.createdAfter),
    compare('created_at < ?', input.createdBefore),
    compare('updated_at > ?', input.updatedAfter),
    compare('updated_at < ?', input.updatedBefore),
    ...(list.conditions ?? []),
  ];
  for (const condition of conditions) {
    if (condition) where.push(condition.sql.replaceAll('?', bind(condition.value)));
  }
  if (input.cursor !== undefined) {
    const [value, id] = readCursor(input.cursor, input.sort);
    where.push(`(${column}, id) ${descending ? '<' : '>'} (${bind(value)}::${type}, ${bind(id)}::uuid)`);
  }
  const rows = await sql.query<Found[]>(
    `SELECT * FROM ${list.table} WHERE ${where.join(' AND ')}
     ORDER BY ${column} ${direction}, id ${direction} LIMIT ${bind(input.limit + 1)}`,
    values,
  );

  const hasMore = rows.length > input.limit;
  const records = hasMore ? rows.slice(0, input.limit) : rows;
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

/** The condition of `q`: the text anywhere in one of the columns, whatever its case. */
export function search(columns: readonly string[], q: string | undefined): Condition | undefined {
  if (q === undefined) return undefined;
  const pattern = `%${q.replace(/[\\%_]/g, '\\$&')}%`;
  return { sql: `(${columns.map((column) => `${column} ILIKE ?`).join(' OR ')})`, value: pattern };
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
