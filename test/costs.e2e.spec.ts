import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client as Connection } from 'pg';
import {
  type CountingProxy,
  type PostgresServer,
  startCountingProxy,
  startPostgres,
  type Turn,
} from '#libs/testing';
import { projections } from '../src/modules.js';
import { Fixture } from './fixture.js';
import { Api, Client } from './harness.js';
import { isLong } from './length.js';
import { type OperationRow, OPERATIONS } from './operations.js';
import { signedIn } from './people-in.js';
import { call } from './petition-page.js';

/**
 * The cost of each operation in PostgreSQL, counted from outside, so that no change increases it unnoticed. To
 * record an intended change:
 *
 *     UPDATE_COSTS=1 npm test -- costs
 */
type Cost = {
  /** SQL statements, BEGIN and COMMIT among them. */
  statements: number;
  /** Network round trips that the server waited for: see `Turn`. */
  turns: number;
  /** Transactions that wrote something and waited for the disk. */
  durable: number;
  /** Bytes of the write-ahead log, without full-page images. */
  wal: number;
};
const COUNTED = ['statements', 'turns', 'durable'] as const;

const FILE = join(__dirname, 'costs.json');
const UPDATE = process.env.UPDATE_COSTS === '1';
const noted = JSON.parse(readFileSync(FILE, 'utf8')) as { [name: string]: Cost };

/** Parallel callers. */
const CALLERS = isLong ? 64 : 16;
/** The maximum number of parallel streams per key, which is below the maximum number of webhooks per organization. */
const FEW_CALLERS = 4;

/**
 * Index pages occasionally split, and any statement may prune dead row versions. A cost recorded at such a
 * moment is higher than usual.
 */
const WAL_TOLERANCE = { above: 0.2, below: 0.4, bytes: 100 };
/** Many parallel callers may split one more page: 8 KiB. */
const PAGE = 8_192;
/** Occasionally something else writes, or a page splits. The expected cost must occur in one of these attempts. */
const TRIES = 40;

/** Looks up the organization of a key, which is cached for half a second. A separate test covers it. */
const LOOK_UP = /FROM api_keys_v\d+\.api_keys k .* WHERE public_id = (\$1|ANY \(\$1\))$/;
/** Statements that instances send on their own schedule. */
const BACKGROUND = [
  LOOK_UP,
  // Polls for work four times a second.
  /^WITH h AS MATERIALIZED \(SELECT event_horizon/,
  // Health, if that poll was not answered.
  /FROM checkpoints c ORDER BY c\.projection, c\.version$/,
];
/**
 * Occasional writes: the last use of keys, and the check that writing works. A count that includes one is
 * discarded.
 */
const DISTURBANCES = [/^INSERT INTO api_key_use/, /SET LOCAL statement_timeout = 2000$/];

let postgres: PostgresServer;
let proxy: CountingProxy;
let api: Api;
let client: Client;
let watcher: Connection;

beforeAll(async () => {
  postgres = await startPostgres({
    settings: {
      // This setting marks in the log which commits were waited for. Without a standby it works like `on`.
      synchronous_commit: 'remote_apply',
      // The test counts waits, not their length, and the data is disposable.
      fsync: 'off',
      full_page_writes: 'off',
      autovacuum: 'off',
      checkpoint_timeout: '1d',
      max_wal_size: '8GB',
    },
  });
  process.env.TEST_DATABASE_URL = postgres.applicationUrl;
  api = await Api.start({ instances: 0 });
  proxy = await startCountingProxy(api.database.url);
  const { runtime } = await api.addInstance({ DATABASE_URL: proxy.url });
  // It polls the projections twice a second.
  await runtime.projections.stop();
  client = await api.organization();
  const { pathname } = new URL(api.database.url);
  watcher = new Connection({ connectionString: Object.assign(new URL(postgres.url), { pathname }).href });
  await watcher.connect();
  await watcher.query('CREATE EXTENSION pg_walinspect');
});
afterAll(async () => {
  await watcher.end();
  await api.stop();
  await proxy.close();
  await postgres.remove();
});

/** The cases by their names in `costs.json`: every operation, and conditions under which its cost differs. */
const CASES = Object.entries(OPERATIONS).flatMap(([operation, { ask, asks = {}, bottleneck }]) => [
  { name: operation, operation, ask, bottleneck },
  ...Object.entries(asks).map(([condition, one]) => {
    return { name: `${operation} (${condition})`, operation, ask: one, bottleneck };
  }),
]);

type Counted = { cost: Cost; statements: string[] };

/** Counts what PostgreSQL does for `work`. */
async function count(work: () => Promise<unknown>): Promise<Counted> {
  await proxy.quiet();
  const from = await position();
  proxy.forget();
  await work();
  await proxy.quiet();
  const to = await position();
  const turns = proxy.turns.filter(({ statements }) => !isBackground(statements));
  const { durable, wal } = await written(from, to);
  const statements = turns.flatMap((turn: Turn) => turn.statements);
  return { cost: { statements: statements.length, turns: turns.length, durable, wal }, statements };
}

function isBackground(statements: readonly string[]): boolean {
  return statements.length > 0 && statements.every((one) => BACKGROUND.some((known) => known.test(one)));
}

async function position(): Promise<string> {
  const { rows } = await watcher.query<{ lsn: string }>('SELECT pg_current_wal_insert_lsn() AS lsn');
  return rows[0]!.lsn;
}

async function written(from: string, to: string): Promise<Pick<Cost, 'durable' | 'wal'>> {
  if (from === to) return { durable: 0, wal: 0 };
  // Only flushed log can be read. Asynchronous commits are not flushed yet.
  await watcher.query(`SELECT pg_logical_emit_message(true, 'costs', '', true)`);
  const { rows } = await watcher.query<Pick<Cost, 'durable' | 'wal'>>(
    `SELECT (count(*) FILTER (WHERE is_durable AND records > 1))::int AS durable, coalesce(sum(bytes), 0)::int AS wal
     FROM (
       SELECT bool_or(resource_manager = 'Transaction' AND description LIKE '%apply_feedback%') AS is_durable,
              count(*) AS records, sum(record_length - fpi_length) AS bytes
       FROM pg_get_wal_records_info($1, $2)
       WHERE resource_manager NOT IN ('Standby', 'XLOG')
       GROUP BY CASE WHEN xid::text = '0' THEN NULL ELSE xid::text END
     ) transactions`,
    [from, to],
  );
  return rows[0]!;
}

/**
 * Counts after the projections have caught up.
 *
 * @returns undefined if something else wrote during the count.
 */
async function countUndisturbed(requests: (() => Promise<unknown>)[]): Promise<Counted | undefined> {
  await api.instances[0]!.runtime.projections.catchUpWithLog();
  if (requests.length > 1) await openConnections();
  const counted = await count(() => Promise.all(requests.map((request) => request())));
  const all = proxy.turns.flatMap(({ statements }) => statements);
  return all.some((one) => DISTURBANCES.some((known) => known.test(one))) ? undefined : counted;
}

/** Opens the connections first, so that parallel requests arrive together. */
async function openConnections(): Promise<void> {
  const askHealth = async () => (await fetch(`${api.origin}/health/live`)).text();
  await Promise.all(Array.from({ length: CALLERS }, askHealth));
}

/** `npm test` runs these with many parallel callers, too. `npm run test:long` does so for all. */
const BUSIEST = ['contact.create-contact', 'contact.list-contacts', 'petition.add-signature'];

it.each(CASES)(
  `$name costs what costs.json records${isLong ? ', and no more for many parallel callers' : ''}`,
  async ({ name, operation, ask, bottleneck }) => {
    const own = new Fixture(api, await api.organization());
    const prepare = async (requests: number) => {
      const all = await Promise.all(Array.from({ length: requests }, async () => ask(own)));
      return all.map((fields) => () => own.ask(operation, fields));
    };
    /** Counts until the cost is as expected. Otherwise returns the lowest cost, because anything above it is chance. */
    const countUntil = async (requests: number, holds: (cost: Cost) => boolean) => {
      let least: Counted | undefined;
      for (let tries = 0; tries < TRIES;) {
        const counted = await countUndisturbed(await prepare(requests));
        if (!counted) continue;
        if (holds(counted.cost)) return counted;
        if (!least || isLess(counted.cost, least.cost)) least = counted;
        tries += 1;
      }
      return least!;
    };
    // Fills the caches.
    for (const request of await prepare(1)) await request();
    const before = noted[name];
    const isAsNoted = (cost: Cost) => before !== undefined && isSame(cost, before);
    const single = await countUntil(1, isAsNoted);
    if (!isAsNoted(single.cost)) {
      if (!UPDATE) fail(name, single, 'costs.json has', before);
      noted[name] = single.cost;
    }
    if (!isLong && !BUSIEST.includes(name)) return;
    const callers = bottleneck === undefined ? CALLERS : FEW_CALLERS;
    const bound = boundOf(noted[name]!, callers, bottleneck);
    const together = await countUntil(callers, (cost) => isWithin(cost, bound));
    if (!isWithin(together.cost, bound)) fail(`${name} for ${callers} callers`, together, 'may cost', bound);
  },
);

it(`looks up a key once for ${CALLERS} parallel requests`, async () => {
  const { key } = await api.createKey(client.organizationId);
  const stranger = new Client(api.origin, client.organizationId, key);
  await proxy.quiet();
  proxy.forget();
  // The cache lasts half a second, which never passes on this clock.
  const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  try {
    const ask = () => stranger.get('organization.get-organization');
    await Promise.all(Array.from({ length: CALLERS }, ask));
  } finally {
    clock.mockRestore();
  }
  const lookUps = proxy.turns.filter(({ statements }) => statements.some((one) => LOOK_UP.test(one)));
  expect(lookUps).toEqual([{ statements: [expect.stringMatching(LOOK_UP)] }]);
});

it('the home page of the dashboard sends at most three queries per card', async () => {
  const own = await api.organization();
  for (let n = 0; n < 6; n += 1) {
    const { petitionId } = await call(own, 'petition.create-petition', {
      name: `Petition ${n}`,
      comments: 'APPROVED',
    });
    await call(own, 'petition.publish-petition', { petitionId });
    await call(own, 'broadcast.create-broadcast', { name: `Email ${n}`, subject: 'Hello', content: 'Hello' });
    await call(own, 'contact.create-contact', {
      organizationId: own.organizationId,
      email: `${n}@example.org`,
      subscribed: true,
    });
  }
  const owner = await signedIn(api, own, 'OWNER', 'owner@example.org');
  const queriesOfHome = async () => {
    const { statements } = await count(async () => {
      expect((await owner.get(`/dashboard/${own.organizationId}`)).status).toBe(200);
    });
    return statements.filter((one) => !/^(BEGIN|ROLLBACK)/.test(one)).map((one) => one.slice(0, 100));
  };
  // The first visit counts the past days.
  await queriesOfHome();
  const queries = await queriesOfHome();
  const cards = ['days', 'petitions', 'attention', 'contacts', 'emails'];
  expect(queries).toContainEqual(expect.stringContaining('petition.id'));
  expect(queries.slice(3 * cards.length)).toEqual([]);
});

function isLess(one: Cost, other: Cost): boolean {
  return one.statements < other.statements || (one.statements === other.statements && one.wal < other.wal);
}

function isSame({ wal, ...found }: Cost, expected: Cost): boolean {
  const { above, below, bytes } = WAL_TOLERANCE;
  const difference = wal - expected.wal;
  const share = difference > 0 ? above : below;
  const isSameWal = Math.abs(difference) <= Math.max(expected.wal * share, bytes);
  return isSameWal && COUNTED.every((figure) => found[figure] === expected[figure]);
}

/**
 * Before a command retries, it may wait for every projection: each reads its next events with one message of
 * four statements, and commits.
 */
const CATCHING_UP = {
  statements: 1 + 5 * projections.length,
  turns: 1 + 2 * projections.length,
  durable: projections.length,
};

/**
 * The maximum cost of this many parallel callers: each has the cost of a single one. On one record, each
 * retries at most once for every other caller that commits first.
 */
function boundOf(alone: Cost, callers: number, bottleneck: OperationRow['bottleneck']): Cost {
  const again = bottleneck === 'one record' ? (callers * (callers - 1)) / 2 : 0;
  const times = callers + again;
  const bound = (figure: (typeof COUNTED)[number]) => times * alone[figure] + again * CATCHING_UP[figure];
  return {
    statements: bound('statements'),
    turns: bound('turns'),
    durable: bound('durable'),
    wal: Math.ceil(times * alone.wal * (1 + WAL_TOLERANCE.above)) + PAGE,
  };
}

function isWithin(found: Cost, bound: Cost): boolean {
  return found.wal <= bound.wal && COUNTED.every((figure) => found[figure] <= bound[figure]);
}

function fail(
  what: string,
  { cost, statements }: Counted,
  relation: string,
  expected: Cost | undefined,
): never {
  const times = new Map<string, number>();
  for (const one of statements) times.set(one, (times.get(one) ?? 0) + 1);
  const list = [...times].map(([one, count]) => `  ${count} × ${one.slice(0, 200)}`);
  throw new Error(
    [
      `${what} costs ${JSON.stringify(cost)}`,
      `${relation} ${JSON.stringify(expected)}`,
      'If this is intended: UPDATE_COSTS=1 npm test -- costs',
      ...list,
    ].join('\n'),
  );
}

afterAll(() => {
  if (!UPDATE) return;
  const all = Object.fromEntries(CASES.map(({ name }) => [name, noted[name]]));
  const text = JSON.stringify(all, null, 2).replace(/\{[^{}]+\}/g, (figures) => figures.replace(/\s+/g, ' '));
  writeFileSync(FILE, `${text}\n`);
});
