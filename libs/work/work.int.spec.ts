import { type DataSource } from 'typeorm';
import { IncidentLog, openDatabase } from '#libs/database';
import { createTestDatabase, eventually, startSilentProxy, type TestDatabase } from '#libs/testing';
import {
  attempt,
  CLAIM_SECONDS,
  MOST_ATTEMPTS,
  pauseAfter,
  type RowLease,
  withRowLease,
  Worker,
} from './index.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.source.query(`
    CREATE TABLE cursors (name text PRIMARY KEY, position int NOT NULL DEFAULT 0, holder uuid, held_until timestamptz);
    CREATE TABLE jobs (id int PRIMARY KEY, attempts int NOT NULL DEFAULT 0, due_at timestamptz DEFAULT clock_timestamp())`);
});
afterAll(() => database.drop());

function deferred() {
  let resolve!: () => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<void>((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
}

/** A worker that records what it reports. */
function reporting(incidents?: IncidentLog) {
  const reports: { error: unknown; work: string; isRepeated: boolean }[] = [];
  const worker = new Worker(
    (error, work, isRepeated) => reports.push({ error, work, isRepeated }),
    incidents,
  );
  return { worker, reports };
}

describe('Worker', () => {
  it('stop resolves after the turn in progress, and no other turn starts', async () => {
    const { worker } = reporting();
    const turn = deferred();
    let turns = 0;
    let hasStopped = false;
    const take = async () => {
      turns += 1;
      await turn.promise;
      await database.source.query('SELECT 1');
    };
    worker.start(take, () => worker.pause(1));
    const stopped = worker.stop().then(() => (hasStopped = true));
    await database.source.query('SELECT 1');
    expect(hasStopped).toBe(false);
    turn.resolve();
    await stopped;
    expect(turns).toBe(1);
  });

  it('stop ends a pause', async () => {
    const { worker } = reporting();
    let turns = 0;
    worker.start(
      () => Promise.resolve((turns += 1)),
      () => worker.pause(3_600_000),
    );
    await eventually(() => expect(turns).toBe(1));
    await worker.stop();
  });

  it('a turn that fails is reported, and the loop continues; a loop that hangs delays no other', async () => {
    const { worker, reports } = reporting();
    const hangs = deferred();
    const failed: boolean[] = [];
    let turns = 0;
    const take = async () => {
      turns += 1;
      await database.source.query(turns === 3 ? 'SELECT 1' : 'SELECT nothing');
    };
    const wait = async (hasFailed: boolean) => {
      failed.push(hasFailed);
      await worker.pause(1);
    };
    worker.start(
      () => hangs.promise,
      () => worker.pause(1),
    );
    worker.start(take, wait, 'counting');
    await eventually(() => expect(turns).toBeGreaterThan(4));
    hangs.resolve();
    await worker.stop();
    expect(failed.slice(0, 4)).toEqual([true, true, false, true]);
    expect(reports.slice(0, 3)).toMatchObject([
      { work: 'counting', isRepeated: false },
      { work: 'counting', isRepeated: true },
      { work: 'counting', isRepeated: false },
    ]);
  });

  it('errors of a worker that is stopping are not reported', async () => {
    const { worker, reports } = reporting();
    const turn = deferred();
    worker.start(
      () => turn.promise,
      () => worker.pause(1),
    );
    const stopped = worker.stop();
    turn.reject(new Error('The connection was closed.'));
    await stopped;
    expect(reports).toEqual([]);
  });

  it('while the database is unavailable, the incident log reports it once, and work continues when it is back', async () => {
    const proxy = await startSilentProxy(database.url);
    const source = await openDatabase({ url: proxy.url, poolSize: 2, migrations: [] });
    const lines: object[] = [];
    const log = (line: object) => lines.push(line);
    const { worker, reports } = reporting(new IncidentLog({ log, warn: log, error: log }));
    const turns: boolean[] = [];
    try {
      const wait = async (hasFailed: boolean) => {
        turns.push(hasFailed);
        await worker.pause(1);
      };
      worker.start(() => source.query('SELECT 1'), wait);
      await eventually(() => expect(turns).toContain(false));
      proxy.refuse();
      proxy.cut();
      await eventually(() => expect(turns.slice(-3)).toEqual([true, true, true]));
      proxy.accept();
      await eventually(() => expect(turns.at(-1)).toBe(false));
      await worker.stop();
      expect(reports).toEqual([]);
      expect(lines.length).toBeGreaterThan(0);
      expect(new Set(lines.map((line) => JSON.stringify(line))).size).toBe(lines.length);
    } finally {
      await worker.stop();
      await source.destroy();
      await proxy.close();
    }
  });
});

describe('withRowLease', () => {
  const CURSORS = { table: 'cursors', key: 'name', returning: 'position' };
  type Lease = RowLease<{ position: number }>;
  const take = <Result>(source: DataSource, work: (lease: Lease) => Promise<Result>) =>
    withRowLease<Lease['row'], Result>(source, CURSORS, 'one', work);
  const isFree = async (source = database.source) =>
    (await take(source, (lease) => lease.release().then(() => true))) ?? false;
  const move = async ({ owner }: Lease) => {
    const [, moved] = await database.source.query<[unknown, number]>(
      'UPDATE cursors SET position = position + 1 WHERE holder = $1',
      [owner],
    );
    return moved === 1;
  };
  const expire = () => database.source.query('UPDATE cursors SET held_until = clock_timestamp()');

  let other: DataSource;
  beforeAll(async () => {
    other = (await database.another()).source;
  });
  beforeEach(() => database.source.query("TRUNCATE cursors; INSERT INTO cursors (name) VALUES ('one')"));

  it('at most one of several instances has the lease, until it is released', async () => {
    const done = deferred();
    let losers = 0;
    const instances = [database.source, other, database.source, other].map(async (source) => {
      const row = await take(source, async (lease) => {
        await done.promise;
        await lease.release();
        return lease.row;
      });
      if (!row) losers += 1;
      return row;
    });
    await eventually(() => expect(losers).toBe(3));
    expect(await isFree(other)).toBe(false);
    done.resolve();
    expect((await Promise.all(instances)).filter((row) => row)).toEqual([{ position: 0 }]);
    expect(await isFree(other)).toBe(true);
  });

  it('another instance takes over from one that hangs, which then changes nothing', async () => {
    const [hanging, thawed] = [deferred(), deferred()];
    const frozen = take(database.source, async (lease) => {
      hanging.resolve();
      await thawed.promise;
      const hasMoved = await move(lease);
      await lease.release();
      return hasMoved;
    });
    await hanging.promise;
    let found: boolean[] | undefined;
    await eventually(async () => {
      // Again: this process is not frozen, and renews.
      await expire();
      found ??= await take(other, async (lease) => {
        thawed.resolve();
        return [(await frozen)!, await isFree(), await move(lease)];
      });
      expect(found).toBeDefined();
    });
    expect(found).toEqual([false, false, true]);
  });

  it('the owner renews its lease while it works', async () => {
    const heldUntil = async () => {
      const [row] = await database.source.query<{ held_until: Date }[]>('SELECT held_until FROM cursors');
      return row!.held_until.getTime();
    };
    await take(database.source, async () => {
      const before = await heldUntil();
      await eventually(async () => expect(await heldUntil()).toBeGreaterThan(before));
    });
  });

  it('work that fails releases the lease', async () => {
    const failing = take(database.source, () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(await isFree(other)).toBe(true);
  });

  it('a lease that is released with a pause stays taken until the pause ends', async () => {
    await take(database.source, (lease) => lease.release(3_600));
    expect(await isFree()).toBe(false);
    await expire();
    expect(await isFree()).toBe(true);
  });

  it('the work may use the only connection', async () => {
    const source = await openDatabase({ url: database.url, poolSize: 1, migrations: [] });
    try {
      expect(await take(source, () => source.query('SELECT 1 AS one'))).toEqual([{ one: 1 }]);
    } finally {
      await source.destroy();
    }
  });

  it('while the database is unavailable, the work fails, and another instance takes over when the lease has expired', async () => {
    const proxy = await startSilentProxy(database.url);
    const source = await openDatabase({ url: proxy.url, poolSize: 2, migrations: [] });
    try {
      const away = take(source, async () => {
        proxy.refuse();
        proxy.cut();
        await source.query('SELECT 1');
      });
      await expect(away).rejects.toThrow();
      await expire();
      expect(await isFree(other)).toBe(true);
    } finally {
      await source.destroy();
      await proxy.close();
    }
  });
});

describe('attempt', () => {
  /** Claims the jobs that are due, and attempts each. */
  async function workOn(source: DataSource, run: (id: number) => Promise<void>): Promise<void> {
    const [jobs] = await source.query<[{ id: number; attempts: number }[], number]>(
      `UPDATE jobs SET attempts = attempts + 1, due_at = clock_timestamp() + make_interval(secs => $1)
       WHERE due_at <= clock_timestamp() RETURNING id, attempts`,
      [CLAIM_SECONDS],
    );
    for (const { id, attempts } of jobs) {
      const reason = await attempt(() => run(id));
      if (reason === undefined) await source.query('DELETE FROM jobs WHERE id = $1', [id]);
      else
        await source.query(
          'UPDATE jobs SET due_at = clock_timestamp() + make_interval(secs => $2::float8) WHERE id = $1',
          [id, pauseAfter(attempts)],
        );
    }
  }
  const hurry = () =>
    database.source.query('UPDATE jobs SET due_at = clock_timestamp() WHERE due_at IS NOT NULL');
  const jobs = () =>
    database.source.query<object[]>('SELECT id, attempts, due_at IS NULL AS is_dead FROM jobs');

  beforeEach(() => database.source.query('TRUNCATE jobs; INSERT INTO jobs (id) VALUES (1), (2)'));

  it('returns the reason of a failure, and undefined for success', async () => {
    expect(await attempt(() => Promise.reject(new Error('no')))).toBe('no');
    expect(await attempt(() => Promise.resolve())).toBeUndefined();
  });

  it('a poison item becomes a dead letter after its last attempt, and the others are done', async () => {
    const attempts: number[] = [];
    const run = (id: number) => {
      attempts.push(id);
      return id === 1 ? Promise.reject(new Error('poison')) : Promise.resolve();
    };
    for (let n = 0; n < 2 * MOST_ATTEMPTS; n += 1) {
      await workOn(database.source, run);
      await hurry();
    }
    expect(attempts.filter((id) => id === 1)).toHaveLength(MOST_ATTEMPTS);
    expect(attempts.filter((id) => id === 2)).toHaveLength(1);
    expect(await jobs()).toEqual([{ id: 1, attempts: MOST_ATTEMPTS, is_dead: true }]);
  });

  it('pauses grow, and after the last attempt there is none', () => {
    const pauses = Array.from({ length: MOST_ATTEMPTS }, (_, n) => pauseAfter(n + 1));
    expect(pauses.at(-1)).toBeNull();
    const numbers = pauses.slice(0, -1) as number[];
    expect(numbers).toEqual(numbers.toSorted((one, next) => one - next));
  });

  it('throws if the database is unavailable, and the claimed work is due again when the claim expires', async () => {
    const proxy = await startSilentProxy(database.url);
    const source = await openDatabase({ url: proxy.url, poolSize: 2, migrations: [] });
    try {
      const run = async () => {
        proxy.refuse();
        proxy.cut();
        await source.query('SELECT 1');
      };
      await expect(workOn(source, run)).rejects.toThrow();
      expect(await jobs()).toMatchObject([{ is_dead: false }, { is_dead: false }]);
      await hurry();
      await workOn(database.source, () => Promise.resolve());
      expect(await jobs()).toEqual([]);
    } finally {
      await source.destroy();
      await proxy.close();
    }
  });
});
