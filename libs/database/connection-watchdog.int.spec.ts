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

/** Whether it fails as what may be tried again, and not before long. */
async function expectUnavailable(promise: Promise<unknown>): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(isUnavailable(error)).toBe(true);
}

it('a statement whose connection went silent fails, and the next ones work', async () => {
  proxy.silence();
  await expectUnavailable(one());
  expect(await one()).toEqual([{ one: 1 }]);
});

longIt('all connections that nobody has heard of since are given up, idle ones too', async () => {
  await Promise.all(Array.from({ length: 5 }, () => source.query('SELECT pg_sleep(0.2)')));
  proxy.silence();
  await expectUnavailable(one());
  const answers = await Promise.all(Array.from({ length: 10 }, one));
  expect(answers).toEqual(Array.from({ length: 10 }, () => [{ one: 1 }]));
});

it.each(['COMMIT', 'ROLLBACK'])('a %s that is never answered', async (end) => {
  const runner = source.createQueryRunner();
  await runner.startTransaction();
  await runner.query('SELECT 1');
  proxy.silence();
  await expectUnavailable(end === 'COMMIT' ? runner.commitTransaction() : runner.rollbackTransaction());
  await runner.release();
  expect(await one()).toEqual([{ one: 1 }]);
});

longIt(
  'a transaction that computed while its connection went silent fails at its next statement',
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

longIt('a long statement is waited for while the network is well', async () => {
  const [row] = await source.query<{ slept: string }[]>('SELECT pg_sleep(9)::text AS slept');
  expect(row).toEqual({ slept: '' });
});

longIt('a long statement is given up when the network is not', async () => {
  const runner = source.createQueryRunner();
  const connection = (await runner.connect()) as Connection;
  const long = expectUnavailable(runner.query('SELECT pg_sleep(600)'));
  // By then the watch has asked about it, found that it works, and waits for it.
  await eventually(() => expect(connection.quietFor(performance.now())).toBeGreaterThan(3_000));
  proxy.silence({ serverGone: true });
  await long;
  await runner.release();
  expect(await one()).toEqual([{ one: 1 }]);
});

longIt('a connection that alone went silent is found out by what its backend does', async () => {
  const runner = source.createQueryRunner();
  const { connection } = (await runner.connect()) as Connection;
  proxy.silence({ from: (connection.stream as Socket).localPort });
  const slow = source.query('SELECT pg_sleep(9)');
  await expectUnavailable(runner.query('SELECT 1'));
  await expect(slow).resolves.toBeDefined();
});

longIt('where nobody answers, statements fail, and work again when somebody does', async () => {
  failFast(source);
  proxy.freeze();
  await expectUnavailable(one());
  proxy.thaw();
  await eventually(one);
});

longIt('a pool whose connections are silent can be closed', async () => {
  const asked = one().catch(() => undefined);
  await asked;
  proxy.silence();
  const lost = expectUnavailable(one());
  const another = await openDatabase({ url: proxy.url, poolSize: 1, migrations: [] });
  await another.destroy();
  await lost;
});

it('limits of a transaction hold for it alone, at every level of isolation', async () => {
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

it('connections to a server that takes no writes are made anew as soon as one is told so', async () => {
  const database = await createTestDatabase();
  const name = new URL(database.url).pathname.slice(1);
  const set = (change: string) =>
    database.source.query(`BEGIN READ WRITE; ALTER DATABASE ${name} ${change}; COMMIT`);
  const write = () => own.query(`SELECT nextval('numbers')`);
  await database.source.query('CREATE SEQUENCE numbers');
  await set('SET default_transaction_read_only = on');
  const own = await openDatabase({ url: database.url, poolSize: 5, migrations: [] });
  try {
    // A pool under load: all of its connections are made while the server takes no writes.
    await Promise.all(Array.from({ length: 5 }, () => own.query('SELECT pg_sleep(0.2)')));
    await set('RESET default_transaction_read_only');

    await expectUnavailable(write());
    // One that was handed out in this very moment may be ended under its query; none is told once more.
    const told = await Promise.allSettled(Array.from({ length: 10 }, write));
    const refusals = told.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
    expect(refusals.filter((refusal) => !refusal.includes('Connection terminated'))).toEqual([]);
    await Promise.all(Array.from({ length: 10 }, write));
  } finally {
    await own.destroy();
  }
  await database.drop();
});
