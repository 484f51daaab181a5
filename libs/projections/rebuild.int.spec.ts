import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { openDatabase } from '#libs/database';
import { EventStore } from '#libs/event-store';
import { migrations } from '#migrations';
import { catalogOf, createTestDatabase, type TestDatabase } from '#libs/testing';
import { type Projection, Projections } from './index.js';
import { isLong, longIt } from '../../test/length.js';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

const organizationId = uuidv7();
const silent = { log: jest.fn(), warn: jest.fn(), error: jest.fn() };
const metadata = { actor: { type: 'system', id: null }, requestId: 'test' } as const;

/** Stores a row per thing with its count. */
function counting(poison?: number): Projection {
  return {
    name: 'things',
    version: 1,
    handles: ['Counted'],
    tables: 'CREATE TABLE things (id uuid PRIMARY KEY, times int NOT NULL, last int NOT NULL)',
    async apply(events, transaction) {
      if (events.some(({ data }) => data.n === poison)) throw new Error(`cannot digest ${poison}`);
      await transaction.query(
        `INSERT INTO things AS t
         SELECT id, count(*), max(n) FROM unnest($1::uuid[], $2::int[]) AS e(id, n) GROUP BY id
         ON CONFLICT (id) DO UPDATE SET times = t.times + excluded.times, last = excluded.last`,
        [events.map(({ streamId }) => streamId), events.map(({ data }) => data.n)],
      );
    },
  };
}

const open = async (projection = counting()) => {
  const { source, store } = await database.another();
  const projections = new Projections(source, store, [projection], silent);
  await projections.start();
  return { source, store, projections };
};
type Instance = Awaited<ReturnType<typeof open>>;

async function count({ store, projections }: Instance, streamId: string, version: number): Promise<void> {
  const events = [{ type: 'Counted', data: { n: version + 1 } }];
  const writes = [{ streamType: 'thing', streamId, expectedVersion: version, events }];
  const result = await store.append({ organizationId, metadata, writes });
  if (result.status !== 'appended') throw new Error(result.status);
  await projections.catchUp(result.position!, ['Counted']);
}
async function times({ source }: Instance, id: string): Promise<number> {
  const [row] = await source.query('SELECT times FROM things_v1.things WHERE id = $1', [id]);
  return row?.times;
}

it('starts even if another process is checking for a rebuild at that moment', async () => {
  const { projections } = await open();
  const { source } = await database.another();
  let isLooking!: () => void;
  const begun = new Promise<void>((resolve) => (isLooking = resolve));
  const looking = source.transaction(async (transaction) => {
    await transaction.query("SELECT pg_advisory_xact_lock(17751, hashtext('things_v1'))");
    isLooking();
    await transaction.query('SELECT pg_sleep(0.5)');
  });
  await begun;
  expect(await projections.maintenance.verify('things')).toEqual([]);
  await looking;
});

it('swaps during commands and reads, and shows each write immediately before, during and after the swap', async () => {
  const instances = await Promise.all([open(), open()]);
  let rebuilding = true;
  const lanes = Array.from({ length: 8 }, async (_, lane) => {
    let written = 0;
    const ids = Array.from({ length: 5 }, () => uuidv7());
    for (let round = 0; rebuilding || round < 5; round += 1) {
      for (const id of ids) {
        await count(instances[lane % 2]!, id, round);
        expect(await times(instances[(lane + 1) % 2]!, id)).toBe(round + 1);
        written += 1;
      }
    }
    return written;
  });
  for (let n = 0; n < (isLong ? 6 : 3); n += 1)
    await instances[n % 2]!.projections.maintenance.rebuild('things');
  rebuilding = false;
  const written = (await Promise.all(lanes)).reduce((sum, own) => sum + own, 0);

  const [row] = await database.source.query('SELECT sum(times)::int AS times FROM things_v1.things');
  expect(row.times).toBe(written);
  expect(await instances[0].projections.maintenance.verify('things')).toEqual([]);
  const left = await database.source.query(
    "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'things%' ORDER BY 1",
  );
  expect(left).toEqual([{ nspname: 'things_v1' }]);
});

it('recreates the dropped indexes unchanged, and keeps those that apply needs', async () => {
  const things = counting();
  const tables = `${things.tables};
    CREATE UNIQUE INDEX things_by_both ON things (id, times);
    CREATE INDEX things_by_times ON things (times);
    CREATE INDEX things_by_last ON things ((last + 1), lower(id::text) text_pattern_ops) WHERE times > 0;
    ALTER INDEX things_by_last ALTER COLUMN 1 SET STATISTICS 0;`;
  let during: string[] = [];
  const apply: Projection['apply'] = async (events, transaction, seal) => {
    const rows = await transaction.query<{ indexrelid: string }[]>(
      `SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'things'::regclass ORDER BY 1`,
    );
    during = rows.map(({ indexrelid }) => indexrelid);
    await things.apply(events, transaction, seal);
  };
  const instance = await open({ ...things, tables, apply, appliesBy: ['things_by_times'] });
  const id = uuidv7();
  for (const version of [0, 1, 2]) await count(instance, id, version);
  const before = await catalogOf(database.source, 'things_v1');
  expect(during).toHaveLength(4);

  await instance.projections.maintenance.rebuild('things');
  expect(during).toEqual(['things_by_both', 'things_by_times', 'things_pkey']);
  expect(await catalogOf(database.source, 'things_v1')).toEqual(before);
  expect(await times(instance, id)).toBe(3);
});

it('verify reports rows that differ from the log, without their values', async () => {
  const instance = await open();
  const [changed, lost, kept, invented] = [uuidv7(), uuidv7(), uuidv7(), uuidv7()];
  for (const id of [changed, lost, kept]) await count(instance, id, 0);
  await database.source.query('UPDATE things_v1.things SET times = 9 WHERE id = $1', [changed]);
  await database.source.query('DELETE FROM things_v1.things WHERE id = $1', [lost]);
  await database.source.query('INSERT INTO things_v1.things VALUES ($1, 1, 1)', [invented]);
  const differences = await instance.projections.maintenance.verify('things');
  expect(differences).toHaveLength(3);
  expect(differences).toEqual(
    expect.arrayContaining([
      { table: 'things', key: { id: changed }, problem: 'different', columns: ['times'] },
      { table: 'things', key: { id: lost }, problem: 'missing', columns: [] },
      { table: 'things', key: { id: invented }, problem: 'surplus', columns: [] },
    ]),
  );
  await instance.projections.maintenance.rebuild('things');
  expect(await instance.projections.maintenance.verify('things')).toEqual([]);
});

it('recovers a failing projection by a rebuild with corrected code', async () => {
  const broken = await open(counting(2));
  const id = uuidv7();
  await count(broken, id, 0);
  await count(broken, id, 1);
  await count(broken, id, 2);
  expect((await broken.projections.status())[0]!.failure).not.toBeNull();
  const mended = await open();
  await mended.projections.maintenance.rebuild('things');
  expect(await times(mended, id)).toBe(3);
  expect((await mended.projections.status())[0]).toMatchObject({ lag: 0, failure: null });
});

longIt('runs once at a time, and leaves nothing behind after an interruption', async () => {
  const [one, two] = [await open(), await open()];
  const id = uuidv7();
  await count(one, id, 0);
  const things = counting();
  let go: (() => void) | undefined;
  const going = new Promise<void>((resolve) => (go = resolve));
  let begin: (() => void) | undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const apply: Projection['apply'] = async (...page) => {
    begin!();
    await going;
    await things.apply(...page);
  };
  const slow = await open({ ...things, apply });
  const rebuilding = slow.projections.maintenance.rebuild('things');
  await begun;
  await expect(one.projections.maintenance.rebuild('things')).rejects.toThrow(/already/);
  await expect(two.projections.maintenance.verify('things')).rejects.toThrow(/already/);
  go!();
  await rebuilding;

  const stop = new AbortController();
  const onProgress = () => stop.abort();
  await expect(
    one.projections.maintenance.rebuild('things', { signal: stop.signal, onProgress }),
  ).rejects.toThrow(/abort/i);
  expect(await times(two, id)).toBe(1);
  await two.projections.maintenance.rebuild('things');
  const left = await database.source.query("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'things%'");
  expect(left).toHaveLength(1);
});

it('needs one connection, even to overtake a failing projection', async () => {
  const broken = await open(counting(2));
  const id = uuidv7();
  await count(broken, id, 0);
  await count(broken, id, 1);
  const source = await openDatabase({ url: database.url, poolSize: 1, migrations });
  const store = new EventStore(source, database.store.keyring);
  const projections = new Projections(source, store, [counting()], silent);
  try {
    expect(await projections.maintenance.verify('things')).toEqual([
      { table: 'things', key: { id }, problem: 'different', columns: ['last', 'times'] },
    ]);
    await projections.maintenance.rebuild('things');
    expect(await projections.maintenance.verify('things')).toEqual([]);
    expect((await projections.status())[0]).toMatchObject({ lag: 0, failure: null });
  } finally {
    await source.destroy();
  }
});

longIt(
  'yields to a running rebuild of any version, and replaces one that was silent for a minute',
  async () => {
    const instance = await open();
    const { source, projections } = instance;
    await count(instance, uuidv7(), 0);
    const sign = (secondsAgo: number) =>
      source.query(`CREATE SCHEMA things_v1_beside; DO $$ BEGIN EXECUTE format('COMMENT ON SCHEMA things_v1_beside IS %L',
      'somebody ' || extract(epoch FROM clock_timestamp())::float8 - ${secondsAgo}); END $$`);
    await sign(30);
    await expect(projections.maintenance.verify('things')).rejects.toThrow(/already/);
    await source.query('DROP SCHEMA things_v1_beside');
    await sign(90);
    expect(await projections.maintenance.verify('things')).toEqual([]);

    // Versions before 0.3.0 start like this: they wait for our page, then drop our tables.
    const another = source.createQueryRunner();
    const takeOver = async () => {
      await another.query("SELECT pg_advisory_xact_lock(17751, hashtext('things_v1'))");
      await another.query('DROP SCHEMA things_v1_beside CASCADE; CREATE SCHEMA things_v1_beside');
    };
    let takingOver: Promise<void> | undefined;
    const things = counting();
    const apply: Projection['apply'] = async (events, transaction, seal) => {
      await things.apply(events, transaction, seal);
      takingOver ??= takeOver();
      for (let waits = 0; waits === 0;) {
        const [row] = await source.query(
          `SELECT count(*)::int AS waits FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
        );
        waits = row.waits;
      }
    };
    await another.startTransaction();
    await another.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    const slow = new Projections(source, database.store, [{ ...things, apply }], silent);
    await expect(slow.maintenance.rebuild('things')).rejects.toThrow(/already/);
    await takingOver;
    await another.commitTransaction();
    await another.release();
    expect(await source.query("SELECT FROM pg_namespace WHERE nspname = 'things_v1_beside'")).toHaveLength(1);
  },
);

it('lists the available projections if the name is unknown', async () => {
  const { projections } = await open();
  await expect(projections.maintenance.rebuild('nothing')).rejects.toThrow(
    'No projection has the name nothing. Available projections: things.',
  );
});

longIt(
  'reads large events a few MiB at a time during the first build, a rebuild and a verification',
  async () => {
    const pages: number[] = [];
    const things = counting();
    const measuring: Projection = {
      ...things,
      async apply(events, transaction, seal) {
        pages.push(events.reduce((sum, { data }) => sum + JSON.stringify(data).length, 0));
        await things.apply(events, transaction, seal);
      },
    };
    // The maximum size in the product. Half of them compress to a ninetieth.
    const texts = ['x'.repeat(300_000), randomBytes(150_000).toString('hex')];
    for (let n = 0; n < 240; n += 1) {
      const events = [{ type: 'Counted', data: { n, text: texts[n % 2]! } }];
      const writes = [{ streamType: 'thing', streamId: uuidv7(), expectedVersion: 0, events }];
      await database.store.append({ organizationId, metadata, writes });
    }
    const { projections } = await open(measuring);
    await projections.catchUp(await database.store.lastPosition());
    await projections.maintenance.rebuild('things');
    expect(await projections.maintenance.verify('things')).toEqual([]);
    const mebibytes = pages.reduce((sum, bytes) => sum + bytes, 0) / 1024 / 1024;
    expect(mebibytes).toBeGreaterThan(3 * 68);
    expect(Math.max(...pages)).toBeLessThan(20 * 1024 * 1024);
  },
);

/** Ends its own connection if a page has more events than this. */
const endingAbove = (most: number): Projection => {
  const things = counting();
  const apply: Projection['apply'] = async (events, transaction, seal) => {
    if (events.length > most) await transaction.query('SELECT pg_terminate_backend(pg_backend_pid())');
    await things.apply(events, transaction, seal);
  };
  return { ...things, apply };
};

longIt('rebuild and verify finish with smaller pages if pages lose their connection', async () => {
  const writer = await open();
  const id = uuidv7();
  for (let version = 0; version < 30; version += 1) await count(writer, id, version);
  const { projections } = await open(endingAbove(7));
  const positions: number[] = [];
  await projections.maintenance.rebuild('things', { onProgress: (position) => positions.push(position) });
  expect(await times(writer, id)).toBe(30);
  // Pages of fewer than all 30 events, each continuing the previous one.
  expect(positions.length).toBeGreaterThan(1);
  expect(positions).toEqual([...new Set(positions)].sort((one, other) => one - other));
  expect(await projections.maintenance.verify('things')).toEqual([]);
});

it('rebuild applies no event twice if the connection is lost after PostgreSQL has committed a page', async () => {
  const writer = await open();
  const id = uuidv7();
  for (let version = 0; version < 3; version += 1) await count(writer, id, version);
  const things = counting();
  let losses = 0;
  const apply: Projection['apply'] = async (events, transaction, seal) => {
    await things.apply(events, transaction, seal);
    transaction.afterCommit(() => {
      losses += 1;
      if (losses === 1) throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    });
  };
  const { projections } = await open({ ...things, apply });
  await projections.maintenance.rebuild('things');
  expect(losses).toBe(1);
  expect(await times(writer, id)).toBe(3);
});

longIt('rebuild reports the cause and the position if it gives up', async () => {
  const writer = await open();
  await count(writer, uuidv7(), 0);
  const { projections } = await open(endingAbove(0));
  await expect(projections.maintenance.rebuild('things')).rejects.toThrow(
    /^things cannot be built from the 1 events after position 0, in 10 attempts .*: PostgreSQL closed connections: .*\(terminating connection/,
  );
  const left = await database.source.query("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'things%'");
  expect(left).toEqual([{ nspname: 'things_v1' }]);
});
