import {
  CUSTOM_OPS,
  type FieldType,
  type Filter,
  type FilterValue,
  type Op,
  OPS_OF,
} from '../../contacts/index.js';
import { type FieldRecord, valueIn } from '../../fields/index.js';

/**
 * A condition as a row of the form: a field or a kind of records, a comparison and a typed value. `until`: the second value of
 * `between`.
 */
export type Row = { subject: string; op: RowOp; value: string; until?: string };

/** What a row can be about: a field of contacts, a custom field, or a kind of records. */
export type Subject = { name: string } & (
  | { type: FieldType | 'record' }
  | { type: FieldRecord['type']; field: FieldRecord }
);

/** By the name of a condition's field or record. */
export type Subjects = ReadonlyMap<string, Subject>;

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
  'between',
  'inLast',
] as const;
export type RowOp = (typeof ROW_OPS)[number];

export type Match = 'all' | 'any';

/** What a row has no value for. */
const WITHOUT_VALUE: readonly RowOp[] = ['isSet', 'isNotSet'];

const DAY = /^\d{4}-\d\d-\d\d$/;
const START_OF_DAY = 'T00:00:00.000Z';
const END_OF_DAY = 'T23:59:59.999Z';

const OPPOSITES: { readonly [op in RowOp]?: RowOp } = {
  is: 'isNot',
  isSet: 'isNotSet',
  contains: 'notContains',
};

export function rowOpsOf(subject: Subject): readonly RowOp[] {
  if (subject.type === 'record') return ['is', 'isNot'];
  const ops: readonly Op[] = 'field' in subject ? CUSTOM_OPS[subject.type] : OPS_OF[subject.type];
  const opposites = ops.flatMap((op) => OPPOSITES[op] ?? []);
  return ROW_OPS.filter((op) => ops.includes(op as Op) || opposites.includes(op));
}

export function needsValue(subject: Subject, op: RowOp): boolean {
  return subject.type !== 'flag' && !WITHOUT_VALUE.includes(op);
}

/** The condition that a row stands for. The API checks it. @param recordId the id of the record that the value names. */
export function conditionOf(row: Row, subject: Subject, recordId?: string): Filter {
  const { op } = row;
  if (recordId !== undefined) {
    const named = { [row.subject]: recordId };
    return op === 'isNot' ? { not: named } : named;
  }
  const field = { field: row.subject };
  if (subject.type === 'flag') return { ...field, op: op as Op, value: true };
  const value = (text: string, end = START_OF_DAY) => typedValue(subject, text, end);
  switch (op) {
    case 'isSet':
      return { ...field, op };
    case 'isNotSet':
      return { not: { ...field, op: 'isSet' } };
    case 'notContains':
      return { not: { ...field, op: 'contains', value: value(row.value) } };
    case 'atMost':
      return { ...field, op, value: value(row.value, END_OF_DAY) };
    case 'between':
      return {
        ...field,
        op,
        value: [value(row.value), value(row.until ?? '', END_OF_DAY)] as [string, string],
      };
    case 'inLast':
      return { ...field, op, value: /^\d{1,9}$/.test(row.value) ? Number(row.value) : row.value };
    case 'is':
    case 'isNot':
    case 'contains':
    case 'startsWith':
    case 'atLeast':
      return { ...field, op, value: value(row.value) };
  }
}

function typedValue(subject: Subject, text: string, end: string): string | number | boolean {
  if (subject.type === 'time') return DAY.test(text) ? text + end : text;
  if (!('field' in subject)) return text;
  // A condition names one of the options.
  const type = subject.type === 'CHOICES' ? 'CHOICE' : subject.type;
  return (valueIn({ ...subject.field, type }, text, (one) => [one]) ?? '') as string | number | boolean;
}

/** The rows of a filter, with ids in place of records' names; undefined if the form cannot show it. */
export function rowsOf(filter: Filter, subjects: Subjects): { match: Match; rows: Row[] } | undefined {
  const match: Match = 'any' in filter ? 'any' : 'all';
  const parts = 'any' in filter ? filter.any : 'all' in filter ? filter.all : [filter];
  const rows = (parts as Filter[]).map((part) => rowOf(part, subjects));
  return rows.every((row) => row !== undefined) ? { match, rows } : undefined;
}

function rowOf(filter: Filter, subjects: Subjects): Row | undefined {
  if ('not' in filter) {
    const row = rowOf(filter.not as Filter, subjects);
    const opposite = row && OPPOSITES[row.op];
    return opposite && { ...row, op: opposite };
  }
  if (!('field' in filter)) {
    const [[name, id], ...more] = Object.entries(filter) as [[string, unknown], ...unknown[]];
    const isShown = more.length === 0 && typeof id === 'string' && subjects.get(name)?.type === 'record';
    return isShown ? { subject: name, op: 'is', value: id } : undefined;
  }
  const { field: name, op, value } = filter as { field: string; op: Op; value?: FilterValue };
  const subject = subjects.get(name);
  if (!subject) return undefined;
  const row = (text: string, until?: string): Row => ({
    subject: name,
    op,
    value: text,
    ...(until === undefined ? {} : { until }),
  });
  if (value === undefined) return row('');
  if (subject.type === 'flag')
    return { subject: name, op: value === (op === 'is') ? 'is' : 'isNot', value: '' };
  if (subject.type === 'time' && op !== 'inLast') {
    const days = Array.isArray(value)
      ? [dayIn(value[0], START_OF_DAY), dayIn(value[1], END_OF_DAY)]
      : [dayIn(value, op === 'atLeast' ? START_OF_DAY : END_OF_DAY)];
    const [day, until] = days;
    return days.includes(undefined) ? undefined : row(day!, until);
  }
  return Array.isArray(value) ? row(String(value[0]), String(value[1])) : row(String(value));
}

/** Undefined if the time is not the start or end of a day. */
function dayIn(time: unknown, end: string): string | undefined {
  const text = String(time);
  return text.slice(10) === end ? text.slice(0, 10) : undefined;
}
