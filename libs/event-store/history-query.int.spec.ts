import { v7 as uuidv7 } from 'uuid';
import { type Sql } from '#libs/database';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { EVENTS_WITH_KEYS } from './event-queries.js';
import { countEvents, type EventFilter, historyQuery, mostFrequent } from './history-query.js';
import { isLong } from '../../test/length.js';

const [organizationId, other] = [uuidv7(), uuidv7()];
const [importer, website, stranger, nobody] = [uuidv7(), uuidv7(), uuidv7(), uuidv7()];
const EVENTS = isLong ? 200_000 : 40_000;
const RARE = EVENTS * 0.6 + 1;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  const { source } = database;
  // Creating the indexes afterwards is faster than maintaining them row by row.
  const indexes = await source.query<{ name: string; definition: string }[]>(
    `SELECT indexrelid::regclass AS name, pg_get_indexdef(indexrelid) AS definition
     FROM pg_index i WHERE indrelid = 'events'::regclass AND NOT indisunique`,
  );
  for (const { name } of indexes) await source.query(`DROP INDEX ${name}`);
  await source.query(
    `INSERT INTO events (position, organization_id, stream_type, stream_id, version, event_id, type, schema, data,
                         metadata, recorded_at, digest)
     SELECT n, CASE WHEN n % 5 = 0 THEN $2 ELSE $1 END::uuid,
       CASE WHEN n = $7 THEN 'list' WHEN n % 2 = 0 THEN 'contact' ELSE 'signature' END, gen_random_uuid(), 1,
       gen_random_uuid(),
       CASE WHEN n = $7 THEN 'ListCreated' WHEN n % 5 = 0 THEN 'Foreign' WHEN n % 100 = 2 THEN 'ContactUpdated'
            WHEN n % 2 = 0 THEN 'ContactCreated' ELSE 'PetitionSigned' END,
       1, '{}', jsonb_build_object(
         'actor', jsonb_build_object('type', 'api-key', 'id', CASE WHEN n % 5 = 0 THEN $6 WHEN n % 2 = 0 THEN $3 ELSE $4 END::text),
         'requestId', CASE WHEN n % 5 = 0 THEN 'foreign' ELSE 'request-' || n / 16 END),
       '2026-01-01'::timestamptz + make_interval(secs => n), '\\x00'
     FROM generate_series(1, $5::int) n`,
    [organizationId, other, importer, website, EVENTS, stranger, RARE],
  );
  for (const { definition } of indexes) await source.query(definition);
  await source.query('VACUUM (ANALYZE) events');
});
afterAll(() => database.drop());

/** The positions of a page, and the rows that PostgreSQL examined for it in the widest step. */
async function find(
  filter: EventFilter,
  {
    after = 0,
    upTo = EVENTS,
    limit = 26,
    end = 'oldest',
  }: { after?: number; upTo?: number; limit?: number; end?: 'oldest' | 'newest' } = {},
) {
  const looked: number[] = [];
  const plans: string[] = [];
  const explained: Sql = {
    async query(text: string, values?: unknown[]) {
      const [row] = await database.source.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
      looked.push(widest(row['QUERY PLAN'][0].Plan));
      plans.push(JSON.stringify(row));
      return database.source.query(text, values);
    },
  };
  const range = { after, upTo };
  const query = await historyQuery(explained, organizationId, range, limit, filter, end);
  const rows: { position: string }[] = query
    ? await explained.query(`${EVENTS_WITH_KEYS} ${query.text}`, query.values)
    : [];
  expect(plans.join()).not.toMatch(/Seq Scan/);
  return { positions: rows.map(({ position }) => Number(position)), looked: Math.max(...looked) };
}

type Plan = Record<string, number> & { Plans?: Plan[] };

function widest(plan: Plan): number {
  const rows = plan['Actual Rows']! + (plan['Rows Removed by Filter'] ?? 0);
  const recheck = plan['Rows Removed by Index Recheck'] ?? 0;
  return Math.max((rows + recheck) * plan['Actual Loops']!, ...(plan.Plans ?? []).map(widest));
}

/** The maximum number of events in order that are examined. */
const FEW = 2_600;

const at = (position: number) => new Date(Date.UTC(2026, 0, 1) + position * 1_000).toISOString();

const nothing: [string, EventFilter][] = [
  ['an unknown type', { type: 'Unheard' }],
  ["a type of another's", { type: 'Foreign' }],
  ['an unknown record type', { recordType: 'unheard' }],
  ['an unknown actor', { actorId: nobody }],
  ["another's actor", { actorId: stranger }],
  ['an unknown request', { requestId: 'unheard' }],
  ["another's request", { requestId: 'foreign' }],
  ['two unknown ids of a request', { requestId: ['foreign', 'unheard'] }],
  ['an unknown record', { recordId: nobody }],
  ['a future moment', { occurredAfter: at(2 * EVENTS) }],
  ['a moment before the first', { occurredBefore: at(0) }],
  ['a time without events', { occurredAfter: at(EVENTS / 2), occurredBefore: at(EVENTS / 2 + 1) }],
  ['a type of another record type', { recordType: 'contact', type: 'PetitionSigned' }],
  ['an actor and a rare type', { actorId: importer, type: 'ListCreated' }],
  ['an actor and a rare record type', { actorId: importer, recordType: 'list' }],
  ['a request and an actor', { requestId: 'request-7', actorId: nobody }],
  ['a rare type and a time', { type: 'ListCreated', occurredAfter: at(EVENTS * 0.7) }],
  ['a type and a future time', { type: 'ContactCreated', occurredAfter: at(2 * EVENTS) }],
  ['a record and a type', { recordId: nobody, type: 'ContactCreated' }],
];

it.each(nothing)('examines few of very many events for %s', async (_, filter) => {
  const { positions, looked } = await find(filter);
  expect(positions).toEqual([]);
  expect(looked).toBeLessThanOrEqual(FEW);
});

const found: [string, EventFilter, string][] = [
  ['a type', { type: 'ContactUpdated' }, `type = 'ContactUpdated'`],
  ['a record type of several types', { recordType: 'contact' }, `stream_type = 'contact'`],
  ['a rare record type', { recordType: 'list' }, `stream_type = 'list'`],
  ['an actor', { actorId: website }, `metadata->'actor'->>'id' = '${website}'`],
  ['a request', { requestId: 'request-77' }, `metadata->>'requestId' = 'request-77'`],
  [
    'two ids of a request',
    { requestId: ['request-77', 'request-5'] },
    `metadata->>'requestId' IN ('request-77', 'request-5')`,
  ],
  [
    'an actor and a type',
    { actorId: importer, type: 'ContactUpdated' },
    `type = 'ContactUpdated' AND metadata->'actor'->>'id' = '${importer}'`,
  ],
  ['the first moments', { occurredBefore: at(1_000) }, `position < 1000`],
];

it.each(found)(
  'pages through the events of %s in order, each page equally cheap',
  async (_, filter, condition) => {
    const expected = await database.source.query<{ position: string }[]>(
      `SELECT position FROM events WHERE organization_id = $1 AND ${condition} ORDER BY position LIMIT 100`,
      [organizationId],
    );
    const seen: number[] = [];
    for (let after = 0; seen.length < 100; after = seen.at(-1)!) {
      const { positions, looked } = await find(filter, { after, limit: 25 });
      expect(looked).toBeLessThanOrEqual(FEW);
      seen.push(...positions);
      if (positions.length < 25) break;
    }
    expect(seen).toEqual(expected.map(({ position }) => Number(position)));
  },
);

const latest: typeof found = [
  ...found.filter(([name]) => name !== 'the first moments'),
  ['everything', {}, 'true'],
  ['the last moments', { occurredAfter: at(EVENTS - 1_000) }, `position > ${EVENTS - 1_000}`],
];

it.each(latest)(
  'pages backward through the events of %s, each page equally cheap',
  async (_, filter, condition) => {
    const expected = await database.source.query<{ position: string }[]>(
      `SELECT position FROM events WHERE organization_id = $1 AND ${condition} ORDER BY position DESC LIMIT 100`,
      [organizationId],
    );
    const seen: number[] = [];
    for (let upTo = EVENTS; seen.length < 100; upTo = seen.at(-1)! - 1) {
      const { positions, looked } = await find(filter, { upTo, limit: 25, end: 'newest' });
      expect(looked).toBeLessThanOrEqual(FEW);
      // They are found from the end, but returned in order.
      seen.push(...positions.toReversed());
      if (positions.length < 25) break;
    }
    expect(seen).toEqual(expected.map(({ position }) => Number(position)));
  },
);

it.each(nothing)('examines few of very many events backward for %s', async (_, filter) => {
  const { positions, looked } = await find(filter, { end: 'newest' });
  expect(positions).toEqual([]);
  expect(looked).toBeLessThanOrEqual(FEW);
});

it('finds late events in order', async () => {
  const late = EVENTS * 0.9;
  const { positions } = await find({ occurredAfter: at(late) }, { limit: 5 });
  expect(positions).toEqual([1, 2, 3, 4, 6].map((n) => late + n));
  const some = await find({ occurredAfter: at(late), type: 'ContactUpdated' }, { limit: 2 });
  expect(some.positions).toEqual([late + 2, late + 102]);
});

it('counts events of each kind in a period, using only indexes', async () => {
  const moments = [-10, 0, EVENTS / 4, EVENTS / 4, RARE - 1, 2 * EVENTS, 3 * EVENTS].map(
    (n) => new Date(at(n)),
  );
  const kinds = [
    { recordType: 'signature', type: 'PetitionSigned' },
    { recordType: 'contact', type: 'ContactUpdated' },
    { recordType: 'list', type: 'ListCreated' },
    { recordType: 'contact', type: 'Foreign' },
  ];
  const plans: string[] = [];
  const explained: Sql = {
    async query(text: string, values?: unknown[]) {
      const plan = await database.source.query(`EXPLAIN (ANALYZE) ${text}`, values);
      plans.push(...plan.map((row: Record<string, string>) => row['QUERY PLAN']));
      return database.source.query(text, values);
    },
  };
  const counts = await countEvents(explained, organizationId, moments, kinds);
  const expected = await database.source.query<{ count: number }[]>(
    `SELECT (SELECT count(*)::int FROM events WHERE organization_id = $1 AND stream_type = kind.stream_type AND type = kind.type
        AND recorded_at >= ($2::timestamptz[])[n] AND recorded_at < ($2::timestamptz[])[n + 1]) AS count
     FROM generate_series(1, $5::int) n, unnest($3::text[], $4::text[]) WITH ORDINALITY kind(stream_type, type, number)
     ORDER BY n, number`,
    [
      organizationId,
      moments,
      kinds.map(({ recordType }) => recordType),
      kinds.map(({ type }) => type),
      moments.length - 1,
    ],
  );
  expect(counts.flat()).toEqual(expected.map(({ count }) => count));
  expect(counts[1]!.slice(0, 2).every((count) => count > 0)).toBe(true);
  expect(plans.join('\n')).not.toMatch(/Seq Scan|Heap Fetches: [1-9]|using events_(?!by_time|by_kind)/);

  plans.length = 0;
  const between = [moments[1]!, moments[2]!] as const;
  const field = 'name';
  const frequent = await mostFrequent(explained, organizationId, between, kinds[0]!, field, 3);
  const all = await database.source.query<{ value: string; count: number }[]>(
    `SELECT data->>$5 AS value, count(*)::int AS count FROM events
     WHERE organization_id = $1 AND stream_type = $2 AND type = $3 AND recorded_at >= $4 AND recorded_at < $6
     GROUP BY 1 ORDER BY count DESC, value`,
    [organizationId, kinds[0]!.recordType, kinds[0]!.type, between[0], field, between[1]],
  );
  expect(frequent).toEqual(all.slice(0, 3));
  expect(frequent.length).toBeGreaterThan(0);
  expect(plans.join('\n')).not.toMatch(/Seq Scan|using events_(?!by_time|by_kind)/);
});
