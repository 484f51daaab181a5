import { Client } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { isLong } from '../../test/length.js';
import { appendBatch } from './append.js';

/** Concurrent writers, each on its own connection, and the total number of their appends. */
const WRITERS = 16;
const COMMANDS = isLong ? 2_400 : 800;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const organizationId = uuidv7();
const metadata = { actor: { type: 'system', id: null }, requestId: 'stress' } as const;

/**
 * Appends in transactions that pause before they end, and rolls every seventh back: positions become
 * visible late, out of order, and some never.
 */
async function writeSlowly(writer: number, committed: string[]): Promise<void> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  const sql = { query: async (text: string, values?: unknown[]) => (await client.query(text, values)).rows };
  for (let n = 0; n < COMMANDS / WRITERS; n += 1) {
    const streamId = uuidv7();
    await client.query('BEGIN');
    await appendBatch(
      sql as never,
      database.store.keyring,
      [
        {
          organizationId,
          metadata,
          writes: [
            {
              streamType: 'thing',
              streamId,
              expectedVersion: 0,
              events: [
                { type: 'First', data: { writer, n } },
                { type: 'Second', data: { writer, n } },
              ],
            },
          ],
        },
      ],
      {},
    );
    if ((writer + n) % 3 === 0) await sleep(Math.random() * 12);
    if ((writer + n) % 7 === 0) {
      await client.query('ROLLBACK');
    } else {
      await client.query('COMMIT');
      committed.push(streamId);
    }
  }
  await client.end();
}

type Seen = { position: number; streamId: string; version: number };

/** Tails the log until the writers are done and nothing is left. `upTo` returns the position up to which it reads. */
async function tail(done: () => boolean, upTo: () => Promise<number>): Promise<Seen[]> {
  const seen: Seen[] = [];
  let cursor = 0;
  for (;;) {
    const last = done();
    const limit = await upTo();
    const page = await database.store.readAll(cursor, limit, 10_000);
    seen.push(...page);
    cursor = page.at(-1)?.position ?? cursor;
    if (last && page.length === 0) return seen;
    await sleep(1);
  }
}

it('shows a tailing reader every committed event exactly once and in order, unlike a naive reader', async () => {
  // An unrelated open transaction with a write and a snapshot must not delay the reader.
  const stranger = new Client({ connectionString: database.url });
  await stranger.connect();
  await stranger.query('CREATE TABLE unrelated (n int)');
  await stranger.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await stranger.query('INSERT INTO unrelated VALUES (1)');

  const committed: string[] = [];
  let writing = true;
  const writers = Promise.all(
    Array.from({ length: WRITERS }, (_, writer) => writeSlowly(writer, committed)),
  ).then(() => (writing = false));
  const [seen, seenNaively] = await Promise.all([
    tail(
      () => !writing,
      () => database.store.horizon(),
    ),
    // The naive reader trusts whatever is visible. The horizon exists to prevent that.
    tail(
      () => !writing,
      () => Promise.resolve(Number.MAX_SAFE_INTEGER),
    ),
    writers,
  ]);
  await stranger.query('ROLLBACK');
  await stranger.end();

  const expected = committed.flatMap((streamId) => [`${streamId} 1`, `${streamId} 2`]).sort();
  const names = (events: Seen[]) => events.map(({ streamId, version }) => `${streamId} ${version}`).sort();
  expect(names(seen)).toEqual(expected);
  expect(seen.map(({ position }) => position)).toEqual(
    seen.map(({ position }) => position).sort((a, b) => a - b),
  );
  expect(seenNaively.length).toBeLessThan(expected.length);
});

it('holds the horizon back during an append, and releases it after a rollback', async () => {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  const before = await database.store.horizon();
  await client.query('BEGIN');
  await client.query('SELECT pg_advisory_xact_lock_shared((17750::bigint << 48) | last_position())');
  await client.query(`SELECT nextval('events_position')`);
  expect(await database.store.horizon()).toBe(before);
  await client.query('ROLLBACK');
  expect(await database.store.horizon()).toBe(before + 1);
  await client.end();
});

it('does not miss the uncommitted first event of a new log', async () => {
  const fresh = await createTestDatabase();
  const client = new Client({ connectionString: fresh.url });
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT pg_advisory_xact_lock_shared((17750::bigint << 48) | last_position())');
  await client.query(`SELECT nextval('events_position')`);
  expect(await fresh.store.horizon()).toBe(0);
  await client.query('COMMIT');
  expect(await fresh.store.horizon()).toBe(1);
  await client.end();
  await fresh.drop();
});
