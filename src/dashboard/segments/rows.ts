import {
  type Filter,
  filterFields,
  type FilterValue,
  namedInFilters,
  type Op,
} from '../../contacts/index.js';

/** A condition as a row of the form: a field or a kind of records, a comparison and a typed value. */
export type Row = { subject: string; op: RowOp; value: string };

/** The comparisons of the form, in the order of their list. Some are the opposite of one in the API. */
export const ROW_OPS = [
  'is',
  'isNot',
  'contains',
  'notContains',
  'startsWith',
  'isSet',
  'isNotSet',
  'atLeast',
  'atMost',
  'inLast',
] as const;
export type RowOp = (typeof ROW_OPS)[number];

export type Match = 'all' | 'any';

/** What a row has no value for. */
const WITHOUT_VALUE: readonly RowOp[] = ['isSet', 'isNotSet'];

const DAY = /^\d{4}-\d\d-\d\d$/;
const START_OF_DAY = 'T00:00:00.000Z';
const END_OF_DAY = 'T23:59:59.999Z';

/** The condition that a row stands for. The API checks it. @param recordId the id of the record that the value names. */
export function conditionOf({ subject, op, value }: Row, recordId?: string): Filter {
  if (recordId !== undefined) {
    const named = { [subject]: recordId };
    return op === 'isNot' ? { not: named } : named;
  }
  const field = { field: subject };
  if (filterFields().get(subject) === 'flag') return { ...field, op: op as Op, value: true };
  switch (op) {
    case 'isSet':
      return { ...field, op };
    case 'isNotSet':
      return { not: { ...field, op: 'isSet' } };
    case 'notContains':
      return { not: { ...field, op: 'contains', value } };
    case 'atLeast':
      return { ...field, op, value: DAY.test(value) ? value + START_OF_DAY : value };
    case 'atMost':
      return { ...field, op, value: DAY.test(value) ? value + END_OF_DAY : value };
    case 'inLast':
      return { ...field, op, value: /^\d{1,9}$/.test(value) ? Number(value) : value };
    case 'is':
    case 'isNot':
    case 'contains':
    case 'startsWith':
      return { ...field, op, value };
  }
}

/** The rows of a filter, with ids in place of records' names; undefined if the form cannot show it. */
export function rowsOf(filter: Filter): { match: Match; rows: Row[] } | undefined {
  const match: Match = 'any' in filter ? 'any' : 'all';
  const parts = 'any' in filter ? filter.any : 'all' in filter ? filter.all : [filter];
  const rows = (parts as Filter[]).map(rowOf).map((row) => (row && isKnown(row.subject) ? row : undefined));
  return rows.every((row) => row !== undefined) ? { match, rows } : undefined;
}

function isKnown(subject: string): boolean {
  return filterFields().has(subject) || namedInFilters().has(subject);
}

function rowOf(filter: Filter): Row | undefined {
  if ('not' in filter) {
    const row = rowOf(filter.not as Filter);
    const opposite = row && OPPOSITES[row.op];
    return opposite && { ...row, op: opposite };
  }
  if (!('field' in filter)) {
    const [[subject, id], ...more] = Object.entries(filter) as [[string, unknown], ...unknown[]];
    return more.length > 0 || typeof id !== 'string' ? undefined : { subject, op: 'is', value: id };
  }
  const { field, op, value } = filter as { field: string; op: Op; value?: FilterValue };
  const row = (typed: string) => ({ subject: field, op: op as RowOp, value: typed });
  if (op === 'between') return undefined;
  if (op === 'isSet' || op === 'inLast') return row(value === undefined ? '' : String(value));
  if (typeof value === 'boolean') {
    const isTrue = value === (op === 'is');
    return { subject: field, op: isTrue ? 'is' : 'isNot', value: '' };
  }
  if (op === 'atLeast' || op === 'atMost') {
    const [day, rest] = [String(value).slice(0, 10), String(value).slice(10)];
    return rest === (op === 'atLeast' ? START_OF_DAY : END_OF_DAY) ? row(day) : undefined;
  }
  return row(String(value));
}

const OPPOSITES: { readonly [op in RowOp]?: RowOp } = {
  is: 'isNot',
  isSet: 'isNotSet',
  contains: 'notContains',
};

export function needsValue(subject: string, op: RowOp): boolean {
  return filterFields().get(subject) !== 'flag' && !WITHOUT_VALUE.includes(op);
}
