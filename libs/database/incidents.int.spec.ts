import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DataSource } from 'typeorm';
import {
  createTestDatabase,
  eventually,
  findProgram,
  type PgBouncer,
  type PostgresServer,
  startPgBouncer,
  startPostgres,
  type TestDatabase,
} from '#libs/testing';
import {
  describeError,
  describeIncident,
  isCollision,
  isConnectionLost,
  isTransient,
  isUnavailable,
  openDatabase,
  queryWide,
} from './index.js';
import { longIt } from '../../test/length.js';

const thrown = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('temporary failures', () => {
  let database: TestDatabase;
  let source: DataSource;

  beforeAll(async () => {
    database = await createTestDatabase();
    ({ source } = database);
    await source.query('CREATE TABLE numbers AS SELECT n FROM generate_series(1, 2) n');
  });
  afterAll(() => database.drop());

  const transactions = async (level?: 'SERIALIZABLE') => {
    const both = [source.createQueryRunner(), source.createQueryRunner()] as const;
    for (const runner of both) await runner.startTransaction(level);
    return both;
  };
  const update = (n: number) => `UPDATE numbers SET n = n WHERE n = ${n}`;

  it('recognizes a deadlock as a collision', async () => {
    const [one, other] = await transactions();
    await one.query(update(1));
    await other.query(update(2));
    const ends = [thrown(one.query(update(2))), thrown(other.query(update(1)))];
    const error = (await Promise.all(ends)).find((end) => end !== undefined);
    expect(error).toMatchObject({ driverError: { code: '40P01' } });
    expect([isCollision(error), isTransient(error), isUnavailable(error)]).toEqual([true, true, false]);
    for (const runner of [one, other]) {
      await runner.rollbackTransaction();
      await runner.release();
    }
  });

  it('recognizes a serialization failure as a collision', async () => {
    const [one, other] = await transactions('SERIALIZABLE');
    for (const runner of [one, other]) await runner.query('SELECT sum(n) FROM numbers');
    await one.query(update(1));
    await other.query(update(2));
    await one.commitTransaction();
    const error = await thrown(other.commitTransaction());
    expect(error).toMatchObject({ driverError: { code: '40001' } });
    expect([isCollision(error), isTransient(error)]).toEqual([true, true]);
    await thrown(other.rollbackTransaction());
    for (const runner of [one, other]) await runner.release();
  });

  it.each([
    ['55P03', `SET LOCAL lock_timeout = 10`],
    ['57014', `SET LOCAL statement_timeout = 10`],
  ])('recognizes %s, a lock timeout, as transient', async (code, limit) => {
    const [one, other] = await transactions();
    await one.query(update(1));
    await other.query(limit);
    const error = await thrown(other.query(update(1)));
    expect(error).toMatchObject({ driverError: { code } });
    expect([isCollision(error), isTransient(error)]).toEqual([false, true]);
    for (const runner of [one, other]) {
      await runner.rollbackTransaction();
      await runner.release();
    }
  });

  it('recognizes 25P03, an idle transaction that PostgreSQL ended, as unavailable', async () => {
    const [one, other] = await transactions();
    await other.release();
    const [{ pid }] = await one.query('SELECT pg_backend_pid() AS pid');
    await one.query('SET LOCAL idle_in_transaction_session_timeout = 10');
    // Checked outside this transaction, which would see the same snapshot of pg_stat_activity throughout.
    const { source: watching } = await database.another();
    await eventually(async () =>
      expect(await watching.query('SELECT FROM pg_stat_activity WHERE pid = $1', [pid])).toEqual([]),
    );
    const error = await thrown(one.query('SELECT 1'));
    expect(isUnavailable(error) || isTransient(error)).toBe(true);
    await one.release();
    // This is all that TypeORM reports.
    const released = await thrown(one.query('SELECT 1'));
    expect([isUnavailable(released), isConnectionLost(released)]).toEqual([true, true]);
    expect(describeError(released)).toBe('the connection was lost between two statements of a transaction');
  });
});

describe('incidents are described for operators', () => {
  let server: PostgresServer;
  const sources: DataSource[] = [];

  beforeAll(async () => {
    const settings = { max_connections: 8, superuser_reserved_connections: 3 };
    server = await startPostgres({ settings });
  });
  afterEach(async () => {
    await Promise.all(sources.splice(0).map((source) => source.destroy()));
  });
  afterAll(() => server.remove());

  /** Opens this many connections. Returns the first error. */
  async function connect(url: string, connections: number): Promise<unknown> {
    for (let n = 0; n < connections; n += 1) {
      try {
        sources.push(await openDatabase({ url, poolSize: 1, migrations: [] }));
      } catch (error) {
        return error;
      }
    }
    return undefined;
  }

  const asSuperuser = async (statement: string) => {
    const source = await openDatabase({ url: server.url, poolSize: 1, migrations: [] });
    await source.query(statement);
    await source.destroy();
  };

  it('names max_connections if all connections of the server are in use', async () => {
    const error = await connect(server.applicationUrl, 12);
    expect(isUnavailable(error)).toBe(true);
    expect(describeIncident(error)).toContain(
      'PostgreSQL rejects further connections. Raise max_connections',
    );
    expect(describeError(error)).toMatch(/max_connections.*\(.*connection.*\)/);
  });

  it.each([
    ['ROLE advocacy', 'further connections of this role'],
    ['DATABASE postgres', 'further connections to this database'],
  ])('names the connection limit of the %s', async (object, sentence) => {
    await asSuperuser(`ALTER ${object} CONNECTION LIMIT 1`);
    try {
      const error = await connect(server.applicationUrl, 4);
      expect(isUnavailable(error)).toBe(true);
      expect(describeIncident(error)).toContain(sentence);
    } finally {
      await asSuperuser(`ALTER ${object} CONNECTION LIMIT -1`);
    }
  });

  longIt('recognizes a full disk', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'small-disk-'));
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=80m', 'tmpfs', directory]).status === 0;
    if (!mounted) {
      process.stderr.write('a small disk cannot be mounted here: a full one is not tried\n');
      await rm(directory, { recursive: true });
      return;
    }
    try {
      const settings = { max_wal_size: '32MB', min_wal_size: '32MB', wal_init_zero: 'off' };
      const small = await startPostgres({ directory, settings });
      try {
        const source = await openDatabase({ url: small.applicationUrl, poolSize: 1, migrations: [] });
        sources.push(source);
        // A temporary table is not written to the log. If the log finds no space, PostgreSQL stops.
        await source.query('CREATE TEMPORARY TABLE large (text text)');
        const fill = source.query(
          `INSERT INTO large SELECT repeat(md5(n::text), 50) FROM generate_series(1, 1000000) n`,
        );
        const error = await thrown(fill);
        expect(error).toMatchObject({ driverError: { code: '53100' } });
        expect(isUnavailable(error)).toBe(true);
        // A new connection gets this error if there is no space for its cache of the catalog.
        const whenConnecting = Object.assign(new Error('could not write init file'), { code: 'XX000' });
        for (const each of [error, whenConnecting])
          expect(describeIncident(each)).toContain("PostgreSQL's disk is full");
        expect(await source.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
      } finally {
        await Promise.all(sources.splice(0).map((source) => source.destroy()));
        await small.remove();
      }
    } finally {
      spawnSync('umount', ['--lazy', directory]);
      await rm(directory, { recursive: true, force: true });
    }
  });

  const program = findProgram('pgbouncer');
  (program === undefined ? describe.skip : describe)('through PgBouncer', () => {
    let bouncer: PgBouncer;

    beforeAll(async () => {
      bouncer = await startPgBouncer(program!, server.applicationUrl, 1, {
        max_client_conn: 4,
        query_wait_timeout: 1,
      });
    });
    afterAll(() => bouncer.remove());

    it('names max_client_conn if PgBouncer rejects connections', async () => {
      const error = await connect(bouncer.url, 6);
      expect(isUnavailable(error)).toBe(true);
      expect(describeIncident(error)).toContain('PgBouncer rejects further connections');
    });

    longIt('names default_pool_size if PgBouncer has no free connection', async () => {
      // PgBouncer notices a moment later that the previous test has closed its connections.
      while ((await connect(bouncer.url, 2)) !== undefined) {
        await Promise.all(sources.splice(0).map((source) => source.destroy()));
      }
      const [one, other] = sources;
      const slow = one!.query('SELECT pg_sleep(4)');
      const error = await thrown(other!.query('SELECT 1'));
      expect(isUnavailable(error)).toBe(true);
      expect(describeIncident(error)).toContain('PgBouncer had no free connection');
      await slow;
    });

    longIt('applies timeouts to one transaction only', async () => {
      const own = openDatabase({ url: bouncer.url, poolSize: 1, migrations: [] });
      const source = await own;
      sources.push(source);
      const organization = '00000000-0000-0000-0000-000000000000';
      const limit = `SELECT current_setting('statement_timeout') AS limit`;
      expect(await queryWide(source, organization, 'page', limit, [])).toEqual([{ limit: '5s' }]);
      expect(await source.query(limit)).toEqual([{ limit: '0' }]);
      const error = await thrown(queryWide(source, organization, 'page', 'SELECT pg_sleep(60)', []));
      expect(error).toMatchObject({ driverError: { code: '57014' } });
      expect(await source.query(limit)).toEqual([{ limit: '0' }]);
    });
  });
});
