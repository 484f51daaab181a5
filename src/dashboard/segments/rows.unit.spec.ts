import { type Filter } from '../../contacts/index.js';
import { type FieldRecord, FIELD_TYPES } from '../../fields/index.js';
import { conditionOf, rowOpsOf, rowsOf, type Subject } from './rows.js';

const ID = '01990a6e-1111-7000-8000-000000000001';

const custom = (type: FieldRecord['type']): [string, Subject] => {
  const options = type.startsWith('CHOICE') ? ['S', 'M'] : null;
  const field = { id: type, key: type.toLowerCase(), name: type, type, options } as FieldRecord;
  return [`fields.${field.key}`, { name: type, type, field }];
};
const subjects = new Map<string, Subject>([
  ['city', { name: 'City', type: 'text' }],
  ['email', { name: 'Email', type: 'email' }],
  ['phone', { name: 'Phone', type: 'sealed' }],
  ['subscribed', { name: 'Subscribed', type: 'flag' }],
  ['createdAt', { name: 'Added on', type: 'time' }],
  ['tag', { name: 'Tag', type: 'record' }],
  ...FIELD_TYPES.map(custom),
]);

it.each<Filter>([
  { field: 'city', op: 'is', value: 'Bonn' },
  { field: 'city', op: 'isNot', value: 'Bonn' },
  { field: 'email', op: 'contains', value: '@example' },
  { not: { field: 'email', op: 'contains', value: '@example' } },
  { field: 'city', op: 'startsWith', value: 'B' },
  { field: 'phone', op: 'isSet' },
  { not: { field: 'phone', op: 'isSet' } },
  { field: 'subscribed', op: 'is', value: true },
  { field: 'subscribed', op: 'isNot', value: true },
  { field: 'createdAt', op: 'atLeast', value: '2026-05-31T00:00:00.000Z' },
  { field: 'createdAt', op: 'atMost', value: '2026-05-31T23:59:59.999Z' },
  { field: 'createdAt', op: 'between', value: ['2026-05-30T00:00:00.000Z', '2026-05-31T23:59:59.999Z'] },
  { field: 'createdAt', op: 'inLast', value: 7 },
  { tag: ID },
  { not: { tag: ID } },
  { field: 'fields.text', op: 'contains', value: '42' },
  { field: 'fields.number', op: 'atLeast', value: 1.5 },
  { field: 'fields.number', op: 'between', value: [-1, 2] },
  { field: 'fields.date', op: 'is', value: '2026-05-31' },
  { field: 'fields.date', op: 'between', value: ['2026-05-30', '2026-05-31'] as [string, string] },
  { field: 'fields.date', op: 'inLast', value: 7 },
  { field: 'fields.boolean', op: 'is', value: false },
  { field: 'fields.boolean', op: 'isNot', value: true },
  { field: 'fields.choice', op: 'isNot', value: 'M' },
  { not: { field: 'fields.choices', op: 'contains', value: 'S' } },
  { not: { field: 'fields.choices', op: 'isSet' } },
])('a form shows %j as a row that stands for the same condition', (filter) => {
  const { rows } = rowsOf(filter, subjects)!;
  expect(rows).toHaveLength(1);
  const [row] = rows;
  const subject = subjects.get(row!.subject)!;
  expect(conditionOf(row!, subject, subject.type === 'record' ? ID : undefined)).toEqual(filter);
  expect(rowOpsOf(subject)).toContain(row!.op);
});

it('a form shows a list of conditions that are combined by all or any', () => {
  const rows = [
    { subject: 'city', op: 'is', value: 'Bonn' },
    { subject: 'subscribed', op: 'is', value: '' },
  ];
  const parts: Filter[] = [
    { field: 'city', op: 'is', value: 'Bonn' },
    { field: 'subscribed', op: 'isNot', value: false },
  ];
  expect(rowsOf({ all: parts }, subjects)).toEqual({ match: 'all', rows });
  expect(rowsOf({ any: parts }, subjects)).toEqual({ match: 'any', rows });
});

it.each<Filter>([
  { all: [{ any: [{ field: 'city', op: 'isSet' }] }] },
  { not: { all: [{ field: 'city', op: 'isSet' }] } },
  { not: { field: 'city', op: 'startsWith', value: 'B' } },
  { field: 'createdAt', op: 'atLeast', value: '2026-05-31T12:00:00.000Z' },
  { field: 'createdAt', op: 'between', value: ['2026-05-30T00:00:00.000Z', '2026-05-31T00:00:00.000Z'] },
  { field: 'fields.deleted', op: 'isSet' },
  { list: ID },
  { tag: ID, inLast: 7 },
])('a form does not show %j', (filter) => {
  expect(rowsOf(filter, subjects)).toBeUndefined();
});
