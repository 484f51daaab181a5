import { NewerEvent } from '#libs/event-store';
import { type Bind, type Projection } from '#libs/projections';
import { comparableEmail, isId } from '#libs/rpc';
import { fields } from '../../fields/index.js';
import { formsOfCountry } from './countries.js';
import {
  type FieldCondition,
  type Filter,
  type FilterPart,
  namedInFilters,
  type NamedRecord,
  partOf,
} from './filter.js';
import { customKeyOf, FILTER_FIELDS } from './filter-fields.js';
import { customFieldSql } from './custom-field-sql.js';
import { containsFolded, equalsFolded, startsWithFolded, withoutCase } from './folded-text.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

type Statement = {
  bind: Bind;
  /** The moment from which `inLast` counts back. Default: that of the statement. */
  moment?: Date | undefined;
};

/**
 * SQL: whether a row of the contacts of organization $1 matches the filter. Usable only in WHERE, because null stands
 * for false. Columns are unqualified, so the row may come from any subquery.
 *
 * @throws NewerEvent for a condition of a later version.
 *
 * Negations are moved to the conditions, so that each can use its index.
 */
export function filterSql(filter: Filter, statement: Statement): string {
  return sqlOf(filter, false, statement);
}

function sqlOf(filter: Filter, isNegated: boolean, statement: Statement): string {
  const part = partOf(filter);
  switch (part.kind) {
    case 'all':
    case 'any': {
      const operator = (part.kind === 'all') === isNegated ? ' OR ' : ' AND ';
      return `(${part.parts.map((one) => sqlOf(one, isNegated, statement)).join(operator)})`;
    }
    case 'not':
      return sqlOf(part.part, !isNegated, statement);
    case 'field': {
      const sql = fieldSql(part.condition, statement);
      return isNegated === (part.condition.op === 'isNot') ? sql : `(${sql}) IS NOT TRUE`;
    }
    case 'record':
      return `${isNegated ? 'NOT ' : ''}${recordSql(part, statement)}`;
  }
}

/** The condition of `isNot` is that of `is`. */
function fieldSql(condition: FieldCondition, { bind, moment }: Statement): string {
  const { field, op, value } = condition;
  const customKey = customKeyOf(field);
  if (customKey !== undefined) return customFieldSql(customKey, condition, bind, moment);
  const known = FILTER_FIELDS.get(field);
  if (!known) throw unknownCondition();
  const { column, type } = known;
  const text = value as string;
  switch (op) {
    case 'isSet':
      return `${column} IS NOT NULL`;
    case 'is':
    case 'isNot':
      if (type === 'flag') return value === true ? column : `NOT ${column}`;
      if (type === 'country') return `${withoutCase(column)} = ANY (${bind(formsOfCountry(text))}::text[])`;
      return type === 'email'
        ? `email_compared = ${bind(comparableEmail(text))}`
        : equalsFolded(column, text, bind);
    case 'contains':
      return containsFolded(column, text, bind);
    case 'startsWith':
      return startsWithFolded(column, text, bind);
    case 'atLeast':
      return `${column} >= ${bind(value)}::timestamptz`;
    case 'atMost':
      return `${column} <= ${bind(value)}::timestamptz`;
    case 'between': {
      const [from, to] = value as [string, string];
      return `${column} BETWEEN ${bind(from)}::timestamptz AND ${bind(to)}::timestamptz`;
    }
    case 'inLast':
      return `${column} >= ${daysAgo(value as number, { bind, moment })}`;
    default:
      throw unknownCondition();
  }
}

/** Days of 24 hours: the interval `1 day` would depend on the time zone of the session. */
function daysAgo(days: number, { bind, moment }: Statement): string {
  if (!moment) return `now() - make_interval(hours => 24 * ${bind(days)}::int)`;
  return `${bind(new Date(moment.getTime() - days * DAY_MS))}::timestamptz`;
}

/** A filter that this version cannot evaluate: without it, `not` would match everyone. */
function unknownCondition(): NewerEvent {
  return new NewerEvent('SegmentCreated', 3);
}

/** EXISTS never compares each contact with each member, as NOT IN does if the members exceed work_mem. */
function recordSql(
  { name, id, inLast }: Extract<FilterPart, { kind: 'record' }>,
  statement: Statement,
): string {
  const named = namedInFilters().get(name);
  if (!named) throw unknownCondition();
  if (!isId(id)) return 'false';
  const { table } = named.resource;
  const existing = `(SELECT r.id FROM ${table} r WHERE r.organization_id = $1 AND r.id = ${statement.bind(id)}::uuid)`;
  const from = inLast === undefined ? undefined : daysAgo(inLast, statement);
  return `EXISTS (SELECT FROM (${named.members(existing, from)}) m WHERE m.member_id = id)`;
}

/** The projections that filters read, next to that of contacts. */
export function filterProjections(): Projection[] {
  return [fields.projection, ...[...namedInFilters().values()].map(({ resource }) => resource.projection)];
}

/**
 * The members of a record, for `NamedRecord`: the contacts with an active link.
 *
 * @param began SQL for when link `l` began. Default: `l.created_at`, which is never earlier and has an index.
 */
export function linkedMembers(linkTable: string, began?: string): NamedRecord['members'] {
  return (id, from) => {
    const columns = from === undefined ? [] : ['l.created_at', ...(began === undefined ? [] : [began])];
    return `
    SELECT l.subject_id AS member_id FROM ${linkTable} l
    WHERE l.organization_id = $1 AND l.record_id = ${id} AND l.ended_at IS NULL
      ${columns.map((column) => `AND ${column} >= ${from}`).join(' ')}`;
  };
}
