import { v7 as uuidv7 } from 'uuid';
import { inTransaction, type Sql } from '#libs/database';
import { type Decider, fold, Keyring, type Json, type RecordedEvent } from '#libs/event-store';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { type Projection } from './projection.js';
import { type RecordRow, RecordTable } from './record-table.js';

type Page = { status: 'standing'; title: string; text: Json } | { status: 'unknown' } | { status: 'ended' };
type PageEvent =
  | { type: 'Made'; data: { title: string; text: Json } }
  | { type: 'Changed'; data: { title?: string; text?: Json } }
  | { type: 'Ended'; data: Record<string, never> };

const page: Decider<Page, PageEvent> = {
  streamType: 'page',
  initial: { status: 'unknown' },
  events: { Made: true, Changed: true, Ended: true },
  evolve(state, event) {
    if (event.type === 'Made') return { status: 'standing', ...event.data };
    if (state.status !== 'standing') return state;
    return event.type === 'Changed' ? { ...state, ...event.data } : { status: 'ended' };
  },
};

const table = new RecordTable(
  page,
  'pages',
  { title: { type: 'text', index: true } },
  (state) => (state.status === 'standing' ? { title: state.title } : undefined),
  { apart: 'text' },
);
const projection: Projection<PageEvent> = {
  name: 'pages',
  version: 1,
  tables: table.definition,
  handles: ['Made', 'Changed', 'Ended'],
  apply: (events, transaction) => table.apply(events, transaction),
};

const organizationId = uuidv7();
const keyring = new Keyring(Buffer.alloc(32));

let database: TestDatabase;
/** Counts the bytes of parameters and results. */
let bytes = 0;
const count = <Answer>(text: string, values: unknown[] | undefined, answer: Answer): Answer => {
  bytes += JSON.stringify([text, values, answer]).length;
  return answer;
};
const counting: Sql = {
  query: async (text: string, values?: unknown[]) =>
    count(text, values, await database.source.query(text, values)),
};
const apply = (events: readonly RecordedEvent[]) =>
  inTransaction(database.source, {}, (transaction) =>
    table.apply(events, {
      query: async (text: string, values?: unknown[]) =>
        count(text, values, await transaction.query(text, values)),
      send: async (text: string, values?: unknown[]) =>
        count(text, values, await transaction.send(text, values)),
      afterCommit: (tell) => transaction.afterCommit(tell),
    }),
  );
beforeAll(async () => {
  database = await createTestDatabase();
  await database.source.query(
    `CREATE SCHEMA pages_v1; ALTER ROLE CURRENT_USER IN DATABASE ${new URL(database.url).pathname.slice(1)}
     SET search_path = pages_v1, public`,
  );
  ({ source: database.source } = await database.another());
  await database.source.query(projection.tables);
});
afterAll(() => database.drop());

let position = 0;
function recorded(streamId: string, version: number, event: PageEvent): RecordedEvent<PageEvent> {
  position += 1;
  const recordedAt = new Date(Date.UTC(2026, 0, 1) + position * 1_000);
  const metadata = { actor: { type: 'system', id: null }, requestId: 'test' } as const;
  const rest = { subjectId: null, encryptedPersonal: null, digest: Buffer.alloc(32), personal: null };
  const own = { ...event, organizationId, streamId, version, position, recordedAt };
  return { ...own, ...rest, streamType: 'page', eventId: uuidv7(), schema: 1, metadata };
}

async function snapshotsOf(ids: readonly string[]) {
  const snapshots = table.snapshots(projection);
  const rows: { id: string; version: number; created_at: Date; updated_at: Date; state: string }[] =
    await counting.query(snapshots.sql, [organizationId, ids]);
  return new Map(
    rows.map((row) => [row.id, { ...row, state: snapshots.read(JSON.parse(row.state), keyring) }]),
  );
}

const pick = <One>(of: readonly One[]): One => of[Math.floor(Math.random() * of.length)]!;
const texts: Json[] = [null, 'x', { a: [1, 1e300, { 'ä"\\': '\u0001' }] }, [], 0.1, 'y'.repeat(5_000)];

it('updates a row after a skipped event, and keeps the version up to which it is complete', async () => {
  const id = uuidv7();
  const made = recorded(id, 1, { type: 'Made', data: { title: 'First', text: 'x' } });
  const third = recorded(id, 3, { type: 'Changed', data: { title: 'Third' } });
  const fourth = recorded(id, 4, { type: 'Changed', data: { text: 'y' } });
  for (const pages of [[[made, third, fourth]], [[made], [third], [fourth]]]) {
    await counting.query('DELETE FROM pages');
    for (const events of pages) await apply(events);
    const { version, state } = (await snapshotsOf([id])).get(id)!;
    expect({ version, state }).toEqual({
      version: 1,
      state: { status: 'standing', title: 'Third', text: 'y' },
    });
  }
  await counting.query('DELETE FROM pages');
});

it('contains the result of evolve for any history and any pages, even of deleted records', async () => {
  const streams = Array.from({ length: 60 }, () => uuidv7());
  const histories = new Map<string, RecordedEvent<PageEvent>[]>(streams.map((id) => [id, []]));
  const log: RecordedEvent<PageEvent>[] = [];
  for (let n = 0; n < 900; n += 1) {
    const id = pick(streams);
    const history = histories.get(id)!;
    const event: PageEvent =
      history.length === 0
        ? { type: 'Made', data: { title: `Title ${n}`, text: pick(texts) } }
        : pick<PageEvent>([
            { type: 'Changed', data: { title: `Title ${n}` } },
            { type: 'Changed', data: { text: pick(texts) } },
            { type: 'Changed', data: { title: `Both ${n}`, text: pick(texts) } },
            Math.random() < 0.3 ? { type: 'Ended', data: {} } : { type: 'Changed', data: {} },
          ]);
    const one = recorded(id, history.length + 1, event);
    history.push(one);
    log.push(one);
  }

  const seen: RecordedEvent<PageEvent>[] = [];
  while (seen.length < log.length) {
    const events = log.slice(seen.length, seen.length + 1 + Math.floor(Math.random() * 400));
    await apply(events);
    seen.push(...events);
    const snapshots = await snapshotsOf(streams);
    for (const id of streams) {
      const { state, version, createdAt, updatedAt } = fold(
        page,
        seen.filter(({ streamId }) => streamId === id),
      );
      const snapshot = snapshots.get(id);
      expect(snapshot?.version ?? 0).toBe(version);
      if (!snapshot) continue;
      const { state: held, created_at, updated_at } = snapshot;
      expect([held, created_at, updated_at]).toEqual([state, createdAt, updatedAt]);
    }
  }
  const rows: RecordRow<Page>[] = await counting.query('SELECT * FROM pages');
  const existing = streams.filter((id) => fold(page, histories.get(id)!).state.status === 'standing');
  expect(rows.map(({ id }) => id).sort()).toEqual(existing.sort());
  for (const row of rows) {
    expect(row.state).not.toHaveProperty('text');
    expect(table.recordOf(row).state).toEqual(fold(page, histories.get(row.id)!).state);
    expect(row.bytes).toBe(
      (await counting.query('SELECT octet_length($1::jsonb::text) AS bytes', [JSON.stringify(row.state)]))[0]
        .bytes,
    );
  }
});

it('neither reads nor writes the field stored apart if an event does not change it', async () => {
  const id = uuidv7();
  const text = 'z'.repeat(200_000);
  await apply([recorded(id, 1, { type: 'Made', data: { title: 'A', text } })]);
  bytes = 0;
  for (let n = 2; n < 12; n += 1) {
    await apply([recorded(id, n, { type: 'Changed', data: { title: `A${n}` } })]);
  }
  expect(bytes).toBeLessThan(50_000);
  expect((await snapshotsOf([id])).get(id)).toMatchObject({ version: 11, state: { title: 'A11', text } });
});

it('rejects a column whose name PostgreSQL would fold, because it would stay empty', () => {
  expect(() => new RecordTable(page, 'pages', { startsAt: { type: 'timestamptz' } }, () => ({}))).toThrow(
    /Rename the column startsAt of pages to lower case/,
  );
});
