import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { storedBytes } from './stored-size.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

async function bytesInPostgres(values: readonly unknown[]): Promise<number[]> {
  const rows: { bytes: number }[] = await database.source.query(
    'SELECT octet_length(value::text) AS bytes FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS v(value, n) ORDER BY n',
    [JSON.stringify(values)],
  );
  return rows.map(({ bytes }) => bytes);
}

const sizesOf = (values: readonly unknown[]) =>
  values.map((value) => storedBytes(value, JSON.stringify(value)));

it('counts numbers, spaces, escapes and keys as PostgreSQL writes them', async () => {
  const numbers = [0, -0, 1, -1.5, 1e20, 1e21, -1e21, 1.5e21, 1e308, Number.MAX_VALUE, -Number.MAX_VALUE]
    .concat([1e-6, 1.5e-6, 9.99e-7, -1e-7, 1.25e-7, 1e-300, Number.MIN_VALUE, 5e-324, 123456789.123456])
    .concat([Number.MAX_SAFE_INTEGER, 2 ** 70, 0.1 + 0.2]);
  const others = [
    null,
    true,
    '',
    'Ω \u0001 \u007f \u2028 "quoted" \\ \n\t 🙂',
    [],
    {},
    [[]],
    [{}],
    [1, 2, 3],
  ];
  const objects = [{ a: 1 }, { a: 1, b: [1, { c: null }] }, { '': '', 'ä"': { x: [1e300, -1e-300] } }];
  const values = [...numbers, ...others, ...objects];
  expect(sizesOf(values)).toEqual(await bytesInPostgres(values));
});

it('counts random numbers correctly', async () => {
  const values = Array.from({ length: 5_000 }, () => {
    const mantissa = Number(Math.random().toPrecision(1 + Math.floor(Math.random() * 17)));
    return mantissa * 10 ** Math.floor(Math.random() * 600 - 300);
  });
  expect(sizesOf(values)).toEqual(await bytesInPostgres(values));
});
