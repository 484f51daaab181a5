import { Integer, isId, isMoment, OneOf, Text, Timestamp } from './fields.js';
import { type RpcError } from './errors.js';
import { Input, invalid } from './input.js';

/** One page of a list operation. */
export type Page<Record> = {
  records: Record[];
  pagination: { cursor: string | null; hasMore: boolean };
};

/** The last record of a page: its value of the sort field, and its id. */
type Place = readonly [value: string, id: string];

const DEFAULT_LIMIT = 25;
const LARGEST_LIMIT = 100;

/** The filters of all lists whose records never change. */
export abstract class CreationFilters extends Input {
  @Timestamp({ optional: true })
  createdAfter?: string;

  @Timestamp({ optional: true })
  createdBefore?: string;
}

/** The filters of all other lists. */
export abstract class TimeFilters extends CreationFilters {
  @Timestamp({ optional: true })
  updatedAfter?: string;

  @Timestamp({ optional: true })
  updatedBefore?: string;
}

/** The input of a list operation. `PageInput('email')` also sorts by email. */
export function PageInput(...sortable: string[]) {
  return Paged(TimeFilters, ...sortable);
}

/** The input of a list operation that shares its filters with another operation. */
export function Paged<Filters extends TimeFilters>(
  filters: abstract new () => Filters,
  ...sortable: string[]
) {
  return pagedBy(filters, ['createdAt', 'updatedAt', ...sortable]);
}

/** The input of a list operation whose records never change. */
export function CreatedPageInput() {
  return pagedBy(CreationFilters, ['createdAt']);
}

function pagedBy<Filters extends CreationFilters>(
  filters: abstract new () => Filters,
  sortable: readonly string[],
) {
  abstract class Paging extends (filters as abstract new () => CreationFilters) {
    @Integer({ min: 1, max: LARGEST_LIMIT, default: DEFAULT_LIMIT, description: 'Records per page.' })
    limit!: number;

    @Text({ max: 2_000, optional: true, description: '`pagination.cursor` of the previous page.' })
    cursor?: string;

    @OneOf(sortable.flatMap((name) => [name, `-${name}`]), {
      default: '-createdAt',
      description: 'A leading minus means descending.',
    })
    sort!: string;
  }
  return Paging as abstract new () => Paging & Filters;
}

/** A list query with its cursor decoded. @throws RpcError BAD_REQUEST if the cursor is not from this list. */
export function listingOf<Query extends { cursor?: string; sort: string }>(
  query: Query,
): Query & { after: Place | undefined } {
  const { cursor, sort } = query;
  return { ...query, after: cursor === undefined ? undefined : readCursor(cursor, sort) };
}

/** @param next the start of the next page; undefined if this is the last one. */
export function pageOf<Record>(
  { sort }: { sort: string },
  records: Record[],
  next: Place | undefined,
): Page<Record> {
  const hasMore = next !== undefined;
  return { records, pagination: { cursor: hasMore ? writeCursor(sort, next) : null, hasMore } };
}

function writeCursor(sort: string, place: Place): string {
  return Buffer.from(JSON.stringify([sort, ...place])).toString('base64url');
}

function readCursor(cursor: string, sort: string): Place {
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
          { path: 'cursor', message: `belongs to a list sorted by ${sorted}: keep the same sort` },
        ]);
      }
      const isTime = sort.endsWith('createdAt') || sort.endsWith('updatedAt');
      if (!value.includes('\0') && (!isTime || isMoment(value))) return [value, id];
    }
  }
  throw malformedCursor();
}

export function malformedCursor(): RpcError {
  return invalid([
    { path: 'cursor', message: 'is malformed: send the cursor of the previous page unchanged' },
  ]);
}
