import { validateSync } from 'class-validator';
import { partsOf } from '#libs/modules';
import { fieldsOf, hasOnlyFields } from '#libs/rpc';
import { MODULES } from './modules.js';

/** Valid and invalid input. */
const values: unknown[] = [
  undefined,
  null,
  '',
  ' ',
  'x',
  'x'.repeat(10_001),
  '\0',
  '\ud800',
  0,
  1,
  -1,
  1.5,
  1e300,
  NaN,
]
  .concat([
    true,
    false,
    [],
    [''],
    ['a', 'b'],
    ['\0'],
    [1],
    {},
    { email: 'x' },
    'true',
    '12',
    'ada@example.org',
  ] as never[])
  .concat([
    '2026-11-20T09:30:00.000Z',
    '2026-02-30T00:00:00Z',
    '01990a6e-1111-7000-8000-000000000001',
    '*',
  ] as never[])
  .concat([
    'contact:read',
    ['contact:read'],
    '-createdAt',
    'ndjson',
    { a: { b: [1, 2] } },
    'content',
    100,
    101,
  ] as never[]);

it('each input rule gives the same result directly as through class-validator', () => {
  let compared = 0;
  for (const type of inputs()) {
    expect(hasOnlyFields(type)).toBe(true);
    const fields = [...fieldsOf(type)];
    for (const value of values) {
      // One run of class-validator for all fields, because it validates all of them anyway.
      const input = Object.assign(new type(), Object.fromEntries(fields.map(([name]) => [name, value])));
      const errors = new Map(
        validateSync(input, { stopAtFirstError: true }).map(({ property, constraints }) => [
          property,
          Object.values(constraints ?? {})[0],
        ]),
      );
      const problems = fields.map(([name, field]) => [name, field.problem(value)]);
      expect({ type: type.name, value, problems }).toEqual({
        type: type.name,
        value,
        problems: fields.map(([name]) => [name, errors.get(name)]),
      });
      compared += fields.length;
    }
  }
  expect(compared).toBeGreaterThan(5_000);
});

/** The inputs of all operations, with nested ones. */
function inputs(): Set<new () => object> {
  const all = new Set<new () => object>();
  const add = (type: new () => object) => {
    all.add(type);
    for (const { nested } of fieldsOf(type).values()) if (nested) add(nested());
  };
  for (const operation of partsOf(MODULES).operations) add(operation);
  return all;
}
