import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { type DataSource } from 'typeorm';
import { openDatabase } from './database.js';
import { inTransaction } from './transaction.js';
import { isCollision } from './incidents.js';

let database: TestDatabase;
let source: DataSource;
beforeAll(async () => {
  database = await createTestDatabase();
  // A single connection, so that its prepared statements are visible.
  source = await openDatabase({ url: database.url, poolSize: 1, migrations: [] });
  await source.query('CREATE TABLE things (n integer PRIMARY KEY)');
});
afterAll(async () => {
  await source.destroy();
  await database.drop();
});
beforeEach(async () => {
  await source.query('DROP TABLE things');
  await source.query('CREATE TABLE things (n integer PRIMARY KEY)');
  await source.query('INSERT INTO things VALUES (1)');
});

const PREPARED = 'SELECT statement FROM pg_prepared_statements';
const prepared = async () =>
  (await source.query<{ statement: string }[]>(PREPARED)).map(({ statement }) => statement);

async function repeat(text: string): Promise<void> {
  for (let n = 0; n < 6; n++) await source.query(text, [1]);
}

it('prepares only statements that have values and repeat', async () => {
  const [rare, often, withoutValues] = [1, 2, 3].map((n) => `SELECT n + ${n} FROM things`);
  await source.query(`${rare} WHERE n = $1`, [1]);
  await repeat(`${often} WHERE n = $1`);
  for (let n = 0; n < 6; n++) await source.query(withoutValues!);
  expect((await prepared()).filter((text) => text.includes('FROM things'))).toEqual([
    `${often} WHERE n = $1`,
  ]);
});

it('sends a prepared statement as text after its result type has changed', async () => {
  const text = 'SELECT * FROM things WHERE n = $1';
  await repeat(text);
  await source.query(`ALTER TABLE things ADD name text DEFAULT 'new'`);
  expect(await source.query(text, [1])).toEqual([{ n: 1, name: 'new' }]);
  expect(await source.query(text, [1])).toEqual([{ n: 1, name: 'new' }]);
});

it('reports such a statement as a collision within a transaction, whose retry succeeds', async () => {
  const text = 'SELECT *, 2 AS two FROM things WHERE n = $1';
  await repeat(text);
  await source.query(`ALTER TABLE things ADD name text DEFAULT 'new'`);
  const write = () =>
    inTransaction(source, {}, async (transaction) => {
      void transaction.send('INSERT INTO things (n) VALUES (2)');
      return transaction.query(text, [2]);
    });
  const error: unknown = await write().catch((reason: unknown) => reason);
  expect(isCollision(error)).toBe(true);
  expect(await source.query('SELECT n FROM things')).toEqual([{ n: 1 }]);
  expect(await write()).toEqual([{ n: 2, name: 'new', two: 2 }]);
});

it('sends a statement as text if the server has deallocated it', async () => {
  const text = 'SELECT n, 4 AS four FROM things WHERE n = $1';
  await repeat(text);
  await source.query('DEALLOCATE ALL');
  expect(await source.query(text, [1])).toEqual([{ n: 1, four: 4 }]);
});

it.each([undefined, null, 'text', new Error('other')])('does not treat %p as a collision', (thrown) => {
  expect(isCollision(thrown)).toBe(false);
});
