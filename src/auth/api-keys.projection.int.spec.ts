import { JsonLogger } from '#libs/operations';
import { Projections } from '#libs/projections';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { FIND_BY_PUBLIC_ID } from './api-keys-table.js';
import { apiKeysProjection } from './api-keys.projection.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it('finds a key of any organization by index', async () => {
  const { source, store } = database;
  const silent = new JsonLogger('silent');
  await new Projections(source, store, [apiKeysProjection], silent).start();
  const plan = await source.transaction(async (transaction) => {
    // On an empty table, PostgreSQL then scans the table only if the index is missing.
    await transaction.query('SET LOCAL enable_seqscan = off');
    return transaction.query(`EXPLAIN ${FIND_BY_PUBLIC_ID}`, ['abcdefgh', ['ApiKeyCreated'], [1]]);
  });
  expect(JSON.stringify(plan)).toMatch(/Scan (using|on) api_keys_by_public_id/);
});
