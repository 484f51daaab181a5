import { type Filter } from '../../contacts/index.js';
// Declares conditions.
import '../../tags/index.js';
import { conditionOf, rowsOf } from './rows.js';

const ID = '01990a6e-1111-7000-8000-000000000001';

it.each<Filter>([
  { field: 'city', op: 'is', value: 'Bonn' },
  { field: 'city', op: 'isNot', value: 'Bonn' },
  { field: 'email', op: 'contains', value: '@example' },
  { not: { field: 'email', op: 'contains', value: '@example' } },
  { field: 'zip', op: 'startsWith', value: '53' },
  { field: 'phone', op: 'isSet' },
  { not: { field: 'phone', op: 'isSet' } },
  { field: 'subscribed', op: 'is', value: true },
  { field: 'subscribed', op: 'isNot', value: true },
  { field: 'createdAt', op: 'atLeast', value: '2026-05-31T00:00:00.000Z' },
  { field: 'updatedAt', op: 'atMost', value: '2026-05-31T23:59:59.999Z' },
  { field: 'createdAt', op: 'inLast', value: 7 },
  { tag: ID },
  { not: { tag: ID } },
])('a form shows %j as a row that stands for the same condition', (filter) => {
  const { rows } = rowsOf(filter)!;
  expect(rows).toHaveLength(1);
  expect(conditionOf(rows[0]!, rows[0]!.subject === 'tag' ? ID : undefined)).toEqual(filter);
});

it('a form shows a list of conditions, of which all or any match', () => {
  const rows = [
    { subject: 'city', op: 'is', value: 'Bonn' },
    { subject: 'subscribed', op: 'is', value: '' },
  ];
  const parts: Filter[] = [
    { field: 'city', op: 'is', value: 'Bonn' },
    { field: 'subscribed', op: 'isNot', value: false },
  ];
  expect(rowsOf({ all: parts })).toEqual({ match: 'all', rows });
  expect(rowsOf({ any: parts })).toEqual({ match: 'any', rows });
});

it.each<Filter>([
  { all: [{ any: [{ field: 'city', op: 'isSet' }] }] },
  { not: { all: [{ field: 'city', op: 'isSet' }] } },
  { not: { field: 'zip', op: 'startsWith', value: '53' } },
  { field: 'createdAt', op: 'atLeast', value: '2026-05-31T12:00:00.000Z' },
  { field: 'createdAt', op: 'between', value: ['2026-05-30T00:00:00.000Z', '2026-05-31T00:00:00.000Z'] },
  { tag: ID, inLast: 7 },
])('a form does not show %j', (filter) => {
  expect(rowsOf(filter)).toBeUndefined();
});
