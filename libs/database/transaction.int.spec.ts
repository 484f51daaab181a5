import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { queryInTurn } from './wide-query.js';
import { inTransaction, inTransactionFrom, type Transaction } from './transaction.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.source.query('CREATE TABLE numbers (n integer PRIMARY KEY)');
});
afterAll(() => database.drop());
beforeEach(() => database.source.query('DELETE FROM numbers'));

const INSERT = 'INSERT INTO numbers VALUES ($1)';
const numbers = async () =>
  (await database.source.query<{ n: number }[]>('SELECT n FROM numbers ORDER BY n')).map(({ n }) => n);
const inOne = (work: (transaction: Transaction) => Promise<void>) => inTransaction(database.source, {}, work);

it('runs sent statements in order and commits them with the transaction', async () => {
  const told: string[] = [];
  await inOne(async (transaction) => {
    transaction.afterCommit(() => told.push('committed'));
    void transaction.send(INSERT, [1]);
    const updated = transaction.send<[{ n: number }[], number]>('UPDATE numbers SET n = n + 1 RETURNING n');
    expect(await transaction.query('SELECT n FROM numbers')).toEqual([{ n: 2 }]);
    void transaction.send(INSERT, [3]);
    expect(await updated).toEqual([[{ n: 2 }], 1]);
    expect(told).toEqual([]);
  });
  expect(told).toEqual(['committed']);
  expect(await numbers()).toEqual([2, 3]);
});

it('rolls back and reports the original error if a sent statement fails', async () => {
  const told: string[] = [];
  const failing = (transaction: Transaction) => {
    transaction.afterCommit(() => told.push('committed'));
    void transaction.send(INSERT, [1]);
    void transaction.send(INSERT, [1]);
    void transaction.send(INSERT, [2]);
    return Promise.resolve();
  };
  await expect(inOne(failing)).rejects.toThrow('duplicate key');
  const asking = async (transaction: Transaction) => {
    await failing(transaction);
    await transaction.query('SELECT n FROM numbers');
  };
  await expect(inOne(asking)).rejects.toThrow('duplicate key');
  expect(told).toEqual([]);
  expect(await numbers()).toEqual([]);
});

it('rejects if work ignores a failed statement', async () => {
  const careless = async (transaction: Transaction) => {
    await transaction.query('SELECT 1 / 0').catch(() => undefined);
  };
  await expect(inOne(careless)).rejects.toThrow('rolled back');
  // The connection still works.
  expect(await numbers()).toEqual([]);
});

it('rolls back sent statements if work throws', async () => {
  const failing = inOne(async (transaction) => {
    await transaction.send(INSERT, [1]);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await numbers()).toEqual([]);
});

it('runs the first statement inside the transaction', async () => {
  const rows = await inTransactionFrom<{ n: number; level: string }, unknown>(
    database.source,
    { isSnapshot: true },
    `INSERT INTO numbers VALUES (7) RETURNING n, current_setting('transaction_isolation') AS level`,
    async (transaction, first) => [first, await transaction.query('SELECT n FROM numbers')],
  );
  expect(rows).toEqual([[{ n: 7, level: 'repeatable read' }], [{ n: 7 }]]);
  const failing = inTransactionFrom(database.source, {}, 'INSERT INTO numbers VALUES (8)', () => {
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  const broken = inTransactionFrom(database.source, {}, 'INSERT INTO numbers VALUES (7)', () =>
    Promise.resolve(),
  );
  await expect(broken).rejects.toThrow('duplicate key');
  expect(await numbers()).toEqual([7]);
});

it('returns to each of many short statements its own result, even if others fail', async () => {
  const ask = (n: number) => queryInTurn<{ n: number }>(database.source, 'one', 'SELECT 12 / $1 AS n', [n]);
  const results = await Promise.allSettled(Array.from({ length: 100 }, (_, at) => ask(at % 4)));
  results.forEach((one, at) => {
    if (at % 4 === 0) expect(one).toMatchObject({ status: 'rejected' });
    else expect(one).toMatchObject({ value: [{ n: Math.trunc(12 / (at % 4)) }] });
  });
  expect(await queryInTurn(database.source, 'another', 'SELECT 1 AS n', [])).toEqual([{ n: 1 }]);
});
