import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { binaryArray, type ElementType } from './index.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it.each<[ElementType, unknown[]]>([
  ['boolean', [true, false, null]],
  ['bytea', [Buffer.from([0, 92, 34, 255]), Buffer.alloc(0), null]],
  ['bigint', [0, -1, -(2 ** 32), 2 ** 40 + 1, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, null]],
  [
    'timestamptz',
    [new Date(0), new Date('1969-12-31T23:59:59.999Z'), new Date('2026-11-22T15:57:54.429Z'), null],
  ],
  ['smallint', [-32_768, 32_767, null]],
  ['int', [-(2 ** 31), 2 ** 31 - 1, null]],
  ['text', ['', 'NULL', '{"a", \\b}', 'ä€😀', null]],
  ['uuid', ['01990a6e-1111-7000-8000-0123456789AB', 'ffffffff-ffff-ffff-ffff-ffffffffffff', null]],
  ['jsonb', ['{"a": "ä\\n😀"}', 'null', '[1.50, -0]', null]],
])('encodes %s with the same value as the driver', async (type, values) => {
  for (const some of [values, values.slice(0, 1), []]) {
    const [row] = await database.source.query<[object]>(
      `SELECT $1::${type}[] IS NOT DISTINCT FROM $2::${type}[] AS same, array_ndims($1::${type}[]) AS dimensions`,
      [binaryArray(type, some), some],
    );
    expect(row).toEqual({ same: true, dimensions: some.length > 0 ? 1 : null });
  }
});

it('rejects an invalid UUID', () => {
  const id = '01990a6e-1111-7000-8000-000000000001';
  for (const none of [
    id.slice(1),
    `${id}0`,
    id.replace('a', 'g'),
    id.replace('a', 'é'),
    id.replaceAll('-', '0'),
    '',
  ]) {
    expect(() => binaryArray('uuid', [none])).toThrow('not a UUID');
  }
});
