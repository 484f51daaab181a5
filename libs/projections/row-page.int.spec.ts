import { v7 as uuidv7 } from 'uuid';
import { momentAsText, searchIndexes, type Sql, textSearchOf } from '#libs/database';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import {
  compare,
  type Condition,
  findRows,
  type ListedTable,
  type Listing,
  type RowPage,
  search,
} from './row-page.js';
import { isLong } from '../../test/length.js';

const [organizationId, other] = [uuidv7(), uuidv7()];
const ROWS = isLong ? 60_000 : 10_000;
const NAMES = ['name', 'title'];

let database: TestDatabase;
let bare: TestDatabase;
beforeAll(async () => {
  [database, bare] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  const extensions = ['pg_trgm', 'btree_gin'];
  for (const name of extensions) {
    await database.source.query(`CREATE EXTENSION IF NOT EXISTS ${name}`);
    await bare.source.query(`DROP EXTENSION IF EXISTS ${name}`);
  }
  for (const { source } of [database, bare]) {
    await source.query('CREATE SCHEMA things');
    await source.query(`SET search_path = things, public; ${TABLE}; RESET search_path`);
    await source.query(
      `INSERT INTO things.things
       SELECT organization, gen_random_uuid(), at, at, 'Thing number ' || n, NULL, CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END
       FROM generate_series(1, $3::int) n, unnest($1::uuid[], $2::text[]) AS o(organization, prefix),
            LATERAL (SELECT '2026-01-01'::timestamptz + make_interval(secs => n) AS at) moment`,
      [[organizationId, other], ['', ''], ROWS],
    );
    // Only the other organization has these. They must not be examined.
    await source.query(`UPDATE things.things SET title = 'Zanzibar ' || name WHERE organization_id = $1`, [
      other,
    ]);
    await source.query(
      `INSERT INTO things.things VALUES ($1, gen_random_uuid(), '2025-01-01', '2025-01-01', 'Ünïque Ж_x', '50% off', 'odd')`,
      [organizationId],
    );
    await source.query('VACUUM ANALYZE things.things');
  }
});
afterAll(() => Promise.all([database.drop(), bare.drop()]));

const TABLE = `
  CREATE TABLE things (
    organization_id uuid NOT NULL, id uuid NOT NULL, created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL, name text, title text, kind text, PRIMARY KEY (organization_id, id)
  );
  CREATE INDEX things_by_creation ON things (organization_id, created_at, id);
  CREATE INDEX things_by_kind ON things (organization_id, kind, created_at, id);
  ${searchIndexes('things', NAMES)}`;

type Thing = { id: string; name: string; title: string | null };

/** The page, and the rows that PostgreSQL examined for it in the widest step. */
async function find(
  { source }: TestDatabase,
  conditions: (Condition | undefined)[],
  listing: Partial<Listing> = {},
  within?: ListedTable['within'],
) {
  let looked = 0;
  const sql: Sql = {
    async query(text: string, values?: unknown[]) {
      if (text.includes('things.things')) {
        const [row] = await source.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
        looked = widest(row['QUERY PLAN'][0].Plan);
      }
      return source.query(text, values);
    },
  };
  const page = await findRows<Thing>(
    sql,
    { organizationId, limit: 25, sort: '-createdAt', ...listing },
    { table: 'things.things', bytes: '1', ...(within && { within }) },
    { conditions },
  );
  return { ...page, looked };
}

type Plan = Record<string, number> & { Plans?: Plan[] };

function widest(plan: Plan): number {
  const rows = plan['Actual Rows']! + (plan['Rows Removed by Filter'] ?? 0);
  const recheck = plan['Rows Removed by Index Recheck'] ?? 0;
  return Math.max((rows + recheck) * plan['Actual Loops']!, ...(plan.Plans ?? []).map(widest));
}

/** The maximum number of rows in order that are examined, plus the match. */
const FEW = 2_700;

describe('search with trigrams', () => {
  it('finds a text anywhere in one of the columns, ignoring case', async () => {
    const { rows } = await find(database, [search(NAMES, 'NUMBER 999')]);
    expect(rows.map(({ name }) => name)).toEqual([
      ...[9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map((digit) => `Thing number 999${digit}`),
      'Thing number 999',
    ]);
    expect((await find(database, [search(NAMES, 'ïque')])).rows).toHaveLength(1);
  });

  it.each(['nobody is called that', 'Zanzibar', 'zz', '%', '_', 'Ж', '--- ', 'жжж'])(
    'examines few rows if nothing matches: %s',
    async (q) => {
      const { rows, looked } = await find(database, [search(NAMES, q)]);
      expect(rows).toEqual([]);
      expect(looked).toBeLessThan(FEW);
    },
  );

  it.each(['number', 'th', 'number 5'])(
    'examines few rows for a text that most rows contain: %s',
    async (q) => {
      const { rows, next, looked } = await find(database, [search(NAMES, q)]);
      expect(rows).toHaveLength(25);
      expect(next).toBeDefined();
      expect(looked).toBeLessThan(FEW);
    },
  );

  it('finds a shorter text at the beginning of a column, and takes it literally', async () => {
    expect((await find(database, [search(NAMES, 'ün')])).rows).toHaveLength(1);
    expect((await find(database, [search(NAMES, '50')])).rows).toHaveLength(1);
    expect((await find(database, [search(NAMES, '5_')])).rows).toHaveLength(0);
  });
});

describe('search without the extensions', () => {
  it('finds the beginning of a column', async () => {
    expect((await find(bare, [search(NAMES, 'THING number 999')])).rows).toHaveLength(11);
    expect((await find(bare, [search(NAMES, 'number 999')])).rows).toHaveLength(0);
  });

  it.each(['nobody is called that', 'Zanzibar', 'zz'])(
    'examines few rows if nothing matches: %s',
    async (q) => {
      const { rows, looked } = await find(bare, [search(NAMES, q)]);
      expect(rows).toEqual([]);
      expect(looked).toBeLessThan(FEW);
    },
  );
});

it('finds a text anywhere in a table without search indexes', async () => {
  const { source } = database;
  await source.query('CREATE TABLE things.plain (LIKE things.things)');
  await source.query('INSERT INTO things.plain SELECT * FROM things.things WHERE created_at < $1', [
    '2026-01-01',
  ]);
  expect((await textSearchOf(source, 'things.plain')).beginning).toBe(false);
  const listing = { organizationId, limit: 25, sort: '-createdAt' };
  const conditions = [search(['name'], 'que')];
  const { rows } = await findRows(source, listing, { table: 'things.plain', bytes: '1' }, { conditions });
  expect(rows).toHaveLength(1);
});

describe('filters', () => {
  it('page through all matches once and in order, near and far', async () => {
    for (const q of ['Thing', 'number 599', 'number 55']) {
      const all = await database.source.query<Thing[]>(
        `SELECT id FROM things.things WHERE organization_id = $1 AND name ILIKE $2 ORDER BY created_at DESC, id DESC LIMIT 2000`,
        [organizationId, `%${q}%`],
      );
      const seen: string[] = [];
      let after: Listing['after'];
      do {
        const page = await find(database, [search(NAMES, q)], { limit: 100, after });
        seen.push(...page.rows.map(({ id }) => id));
        after = page.next;
      } while (after && seen.length < 2_000);
      expect(seen).toEqual(all.map(({ id }) => id));
    }
  });

  it('examine few rows if nothing matches, even if statistics expect many', async () => {
    const { rows, looked } = await find(database, [
      compare('kind = ?', 'even'),
      search(NAMES, 'number 55555'),
      compare('title = ?', 'x'),
    ]);
    expect(rows).toEqual([]);
    expect(looked).toBeLessThan(FEW);
  });

  it('examine nothing beyond the range of the index', async () => {
    await database.source.query(
      `UPDATE things.things SET kind = 'rare' WHERE organization_id = $1 AND name IN ('Thing number 5', 'Thing number 7')`,
      [organizationId],
    );
    const within = { sql: 'kind = ?', type: 'text' } as const;
    const { rows, looked } = await find(database, [], { within: 'rare' }, within);
    expect(rows.map(({ name }) => name)).toEqual(['Thing number 7', 'Thing number 5']);
    expect(looked).toBe(2);
  });

  it('examine nothing else if a condition is selective', async () => {
    const { looked } = await find(database, [{ sql: 'kind = ?', value: 'none', selective: true }]);
    expect(looked).toBe(0);
  });
});

describe('concurrent pages', () => {
  const list: ListedTable = { table: 'things.things', bytes: '1', widest: 1_000 };
  const within: ListedTable = { ...list, within: { sql: 'kind = ?', type: 'text' } };
  const ask = (of: ListedTable, listing: Partial<Listing>) =>
    findRows<Thing>(database.source, { organizationId, limit: 10, sort: '-createdAt', ...listing }, of);
  const places = async (of: ListedTable, listing: Partial<Listing>, count: number) => {
    const all: Partial<Listing>[] = [];
    for (let after: Listing['after']; all.length < count; after = (await ask(of, all.at(-1)!)).next)
      all.push({ ...listing, after });
    return all;
  };

  it('are the same as when requested individually', async () => {
    const listings = [
      ...(await places(list, {}, 12)).map((one) => [list, one] as const),
      ...(await places(list, { sort: 'updatedAt', limit: 3 }, 4)).map((one) => [list, one] as const),
      ...(await places(list, { organizationId: other }, 4)).map((one) => [list, one] as const),
      ...(await places(within, { within: 'odd' }, 5)).map((one) => [within, one] as const),
      ...(await places(within, { within: 'even' }, 5)).map((one) => [within, one] as const),
    ];
    const alone = [];
    for (const [of, one] of listings) alone.push(await ask(of, one));
    // Repeated, because each time more of them share a statement.
    for (let round = 0; round < 4; round += 1) {
      const together = await Promise.all([...listings, ...listings].map(([of, one]) => ask(of, one)));
      const said = (pages: RowPage<Thing>[]) =>
        pages.map(({ rows, next }) => ({ ids: rows.map(({ id }) => id), next }));
      expect(said(together)).toEqual(said([...alone, ...alone]));
    }
  });

  it.each([list, within])('fail individually', async (of) => {
    const listings = await places(of, { ...(of.within && { within: 'odd' }) }, 6);
    const after = ['no moment', organizationId] as const;
    const pages = [...listings, { ...listings[0], after }].map((one) => ask(of, one));
    const outcomes = await Promise.allSettled(pages);
    expect(outcomes.map(({ status }) => status)).toEqual([...listings.map(() => 'fulfilled'), 'rejected']);
  });
});

it.each(['09:30:00', '09:30:00.1', '09:30:00.02', '09:30:00.003', '23:59:59.999', '09:30:00.000400'])(
  'reads a moment as the same text as a Date, at %s',
  async (time) => {
    const rows = await database.source.query<{ date: Date; text: string }[]>(
      `SELECT at AS date, ${momentAsText('at')} AS text FROM (SELECT $1::timestamptz AS at) moment`,
      [`2026-03-29T${time}+01:00`],
    );
    expect(rows[0]!.text).toBe(rows[0]!.date.toISOString());
  },
);
