import { v7 as uuidv7 } from 'uuid';
import { type Sql } from '#libs/database';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { someOf } from '../../test/length.js';
import { findRows, LARGEST_PAGE_BYTES, type Listing } from './row-page.js';

const organizationId = uuidv7();

let database: TestDatabase;
/** Bytes of text in the last statement's result. */
let sent = 0;
const counting: Sql = {
  async query(text: string, values?: unknown[]) {
    const rows: { text?: string }[] = await database.source.query(text, values);
    sent = rows.reduce((sum, row) => sum + Buffer.byteLength(row.text ?? ''), 0);
    return rows as never;
  },
};

/** Creates records of these sizes in bytes, some at the same moment. */
async function fill(sizes: readonly number[]): Promise<string[]> {
  await database.source.query('TRUNCATE things');
  const ids = sizes.map(() => uuidv7());
  await database.source.query(
    `INSERT INTO things SELECT $1, id, '2026-01-01'::timestamptz + make_interval(secs => n / 3), '2026-01-01', repeat('x', size)
     FROM unnest($2::uuid[], $3::int[]) WITH ORDINALITY AS t(id, size, n)`,
    [organizationId, ids, sizes],
  );
  return ids;
}

beforeAll(async () => {
  database = await createTestDatabase();
  await database.source.query(`
    CREATE TABLE things (organization_id uuid, id uuid, created_at timestamptz, updated_at timestamptz, text text);
    CREATE INDEX ON things (organization_id, created_at, id);`);
});
afterAll(() => database.drop());

async function page(limit: number, sort: string, after?: Listing['after']) {
  const listing = { organizationId, limit, sort, after };
  return findRows<{ id: string }>(counting, listing, {
    table: 'things',
    bytes: 'octet_length(text)',
  });
}

async function walk(limit: number, sort: string): Promise<string[][]> {
  const pages: string[][] = [];
  let after: Listing['after'];
  do {
    const { rows, next } = await page(limit, sort, after);
    expect(rows.length).toBeLessThanOrEqual(limit);
    if (rows.length > 1) expect(sent).toBeLessThanOrEqual(LARGEST_PAGE_BYTES);
    pages.push(rows.map(({ id }) => id));
    after = next;
  } while (after !== undefined);
  return pages;
}

it.each(someOf(['createdAt', '-createdAt']))(
  'by %s: ends pages before 1 MiB, with no empty page and nothing skipped or repeated',
  async (sort) => {
    const sizes = Array.from({ length: 300 }, () => Math.floor(2 ** (Math.random() * 20)));
    // Records larger than a page: first, in the middle, adjacent and last.
    for (const at of [0, 99, 150, 151, 299]) sizes[at] = LARGEST_PAGE_BYTES + at;
    const ids = await fill(sizes);
    const [smallest] = await database.source.query('SELECT count(*)::int AS count FROM things');
    expect(smallest.count).toBe(300);
    for (const limit of [1, 7, 100]) {
      const pages = await walk(limit, sort);
      expect(pages.every((one) => one.length > 0)).toBe(true);
      const order: { id: string }[] = await database.source.query(
        `SELECT id FROM things ORDER BY created_at ${sort.startsWith('-') ? 'DESC' : 'ASC'}, id ${sort.startsWith('-') ? 'DESC' : 'ASC'}`,
      );
      expect(pages.flat()).toEqual(order.map(({ id }) => id));
      expect(pages.flat()).toHaveLength(ids.length);
    }
  },
);

it('returns full pages of small records, and reports the last page', async () => {
  await fill(Array.from({ length: 200 }, () => 10));
  expect((await walk(100, '-createdAt')).map((one) => one.length)).toEqual([100, 100]);
  await fill([]);
  expect(await page(100, '-createdAt')).toEqual({ rows: [], next: undefined });
});

it('does not read the text of rows that are not on the page', async () => {
  await fill(Array.from({ length: 100 }, () => 1));
  // Out of line and not compressed.
  await database.source.query('ALTER TABLE things ALTER text SET STORAGE EXTERNAL');
  await database.source.query(`UPDATE things SET text = repeat('x', 262144)`);
  const blocks = async () => {
    let read = 0;
    const explaining: Sql = {
      async query(text: string, values?: unknown[]) {
        const [row] = await database.source.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values);
        const plan = row['QUERY PLAN'][0].Plan;
        read = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
        return [] as never;
      },
    };
    const listing = { organizationId, limit: 100, sort: '-createdAt' };
    await findRows<{ id: string }>(explaining, listing, {
      table: 'things',
      bytes: 'octet_length(text)',
    });
    return read;
  };
  // 25 MB of text would be 3,200 blocks.
  expect(await blocks()).toBeLessThan(300);
});
