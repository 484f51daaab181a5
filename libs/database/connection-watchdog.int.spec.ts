import { type Socket } from 'node:net';
import { type DataSource } from 'typeorm';
import {
  createTestDatabase,
  eventually,
  type SilentProxy,
  startSilentProxy,
  testServerUrl,
} from '#libs/testing';
import { type Connection } from './connection.js';
import { failFast, inTransaction, isUnavailable, openDatabase } from './index.js';
import { longIt } from '../../test/length.js';

let proxy: SilentProxy;
let source: DataSource;

beforeEach(async () => {
  proxy = await startSilentProxy(testServerUrl());
  source = await openDatabase({ url: proxy.url, poolSize: 5, migrations: [] });
  await source.query('SELECT 1');
  // The probe.
  await eventually(() => expect(proxy.connections).toBeGreaterThanOrEqual(2));
});
afterEach(async () => {
  await source.destroy();
  await proxy.close();
});

const one = () => source.query<{ one: number }[]>('SELECT 1 AS one');

/** Expects a failure that the caller may retry. */
async function expectUnavailable(promise: Promise<unknown>): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(isUnavailable(error)).toBe(true);
}

longIt('fails a statement whose connection went silent, and serves the next ones', async () => {
  proxy.silence();
  await expectUnavailable(one());
  expect(await one()).toEqual([{ one: 1 }]);
});

longIt('closes all silent connections, even idle ones', async () => {
  await Promise.all(Array.from({ length: 5 }, () => source.query('SELECT pg_sleep(0.2)')));
  proxy.silence();
  await expectUnavailable(one());
  const answers = await Promise.all(Array.from({ length: 10 }, one));
  expect(answers).toEqual(Array.from({ length: 10 }, () => [{ one: 1 }]));
});

it.each(['COMMIT', 'ROLLBACK'])('fails a %s that is never answered', async (end) => {
  const runner = source.createQueryRunner();
  await runner.startTransaction();
  await runner.query('SELECT 1');
  proxy.silence();
  await expectUnavailable(end === 'COMMIT' ? runner.commitTransaction() : runner.rollbackTransaction());
  await runner.release();
  expect(await one()).toEqual([{ one: 1 }]);
});

longIt(
  'fails the next statement of a transaction whose connection went silent while it computed',
  async () => {
    const work = source.transaction(async (sql) => {
      await sql.query('SELECT 1');
      proxy.silence();
      await expectUnavailable(one());
      await sql.query('SELECT 1');
    });
    await expect(work).rejects.toThrow();
    expect(await one()).toEqual([{ one: 1 }]);
  },
);

longIt('waits for a long statement while the network works', async () => {
  const [row] = await source.query<{ slept: string }[]>('SELECT pg_sleep(9)::text AS slept');
  expect(row).toEqual({ slept: '' });
});

longIt('fails a long statement when the network fails', async () => {
  const runner = source.createQueryRunner();
  const connection = (await runner.connect()) as Connection;
  const long = expectUnavailable(runner.query('SELECT pg_sleep(600)'));
  // By then the watchdog has checked it, found it working, and waits for it.
  await eventually(() => expect(connection.quietFor(performance.now())).toBeGreaterThan(3_000));
  proxy.silence({ serverGone: true });
  await long;
  await runner.release();
  expect(await one()).toEqual([{ one: 1 }]);
});

longIt('detects a single silent connection by the state of its backend', async () => {
  const runner = source.createQueryRunner();
  const { connection } = (await runner.connect()) as Connection;
  proxy.silence({ from: (connection.stream as Socket).localPort });
  const slow = source.query('SELECT pg_sleep(9)');
  await expectUnavailable(runner.query('SELECT 1'));
  await expect(slow).resolves.toBeDefined();
});

longIt('fails statements while the server does not respond, and recovers with it', async () => {
  failFast(source);
  proxy.freeze();
  await expectUnavailable(one());
  proxy.thaw();
  await eventually(one);
});

longIt('closes a pool whose connections are silent', async () => {
  const asked = one().catch(() => undefined);
  await asked;
  proxy.silence();
  const lost = expectUnavailable(one());
  const another = await openDatabase({ url: proxy.url, poolSize: 1, migrations: [] });
  await another.destroy();
  await lost;
});

it('applies limits to one transaction only, at every isolation level', async () => {
  const limits = (sql: Pick<DataSource, 'query'>) =>
    sql.query<object[]>(
      `SELECT current_setting('idle_in_transaction_session_timeout') AS idle,
         current_setting('statement_timeout') AS statement, current_setting('transaction_isolation') AS level`,
    );
  const plain = { idle: '0', statement: '0', level: 'read committed' };
  expect(await inTransaction(source, { idle: 6_000, statement: 7_000 }, limits)).toEqual([
    { ...plain, idle: '6s', statement: '7s' },
  ]);
  expect(await source.transaction('REPEATABLE READ', limits)).toEqual([
    { ...plain, idle: '5s', level: 'repeatable read' },
  ]);
  expect(await limits(source)).toEqual([plain]);
});

it('replaces all connections when the server rejects a write', async () => {
  const database = await createTestDatabase();
  const name = new URL(database.url).pathname.slice(1);
  const set = (change: string) =>
    database.source.query(`BEGIN READ WRITE; ALTER DATABASE ${name} ${change}; COMMIT`);
  const write = () => own.query(`SELECT nextval('numbers')`);
  await database.source.query('CREATE SEQUENCE numbers');
  await set('SET default_transaction_read_only = on');
  const own = await openDatabase({ url: database.url, poolSize: 5, migrations: [] });
  try {
    // A pool under load opens all of its connections while the server rejects writes.
    await Promise.all(Array.from({ length: 5 }, () => own.query('SELECT pg_sleep(0.2)')));
    await set('RESET default_transaction_read_only');

    await expectUnavailable(write());
    // A connection handed out at this moment may close during its query, but no write is rejected again.
    const results = await Promise.allSettled(Array.from({ length: 10 }, write));
    const refusals = results.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
    expect(refusals.filter((refusal) => !refusal.includes('Connection terminated'))).toEqual([]);
    await Promise.all(Array.from({ length: 10 }, write));
  } finally {
    await own.destroy();
  }
  await database.drop();
});
