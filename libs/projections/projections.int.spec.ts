import { type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { openDatabase, type Sql } from '#libs/database';
import { type DomainEvent, EventStore, type RecordedEvent } from '#libs/event-store';
import { createTestDatabase, eventually, startCountingProxy, type TestDatabase } from '#libs/testing';
import { type Projection, Projections } from './index.js';
import { longDescribe, longIt } from '../../test/length.js';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

const organizationId = uuidv7();
const silent = { log: jest.fn(), warn: jest.fn(), error: jest.fn() };

/** Stores a row per event, and fails for the number `poison`. */
function counting(name: string, poison?: number): Projection {
  return {
    name,
    version: 1,
    handles: ['Counted'],
    tables: 'CREATE TABLE counted (n bigint NOT NULL)',
    async apply(events, transaction: Sql) {
      if (events.some(({ data }) => data.n === poison)) throw new Error(`cannot digest ${poison}`);
      const numbers = events.map(({ data }) => data.n);
      await transaction.query('INSERT INTO counted SELECT unnest($1::bigint[])', [numbers]);
    },
  };
}

async function countOf(name: string): Promise<number> {
  const [row] = await database.source.query(`SELECT count(*) FROM ${name}_v1.counted`);
  return Number(row.count);
}

async function count(store: EventStore, n: number, padding = '', times = 1): Promise<number> {
  const result = await store.append({
    organizationId,
    metadata: { actor: { type: 'system', id: null }, requestId: 'test' },
    writes: [
      {
        streamType: 'thing',
        streamId: uuidv7(),
        expectedVersion: 0,
        events: [
          { type: 'Ignored', data: {} },
          ...Array.from({ length: times }, () => ({ type: 'Counted', data: { n, padding } })),
        ],
      },
    ],
  });
  if (result.status !== 'appended') throw new Error(result.status);
  return result.position!;
}

it('shows a write on every instance before catchUp resolves, and applies each event once', async () => {
  const other = await database.another();
  const here = new Projections(database.source, database.store, [counting('reads')], silent);
  const there = new Projections(other.source, other.store, [counting('reads')], silent);
  await Promise.all([here.start(), there.start()]);
  await Promise.all(
    Array.from({ length: 400 }, async (_, n) => {
      const [projections, store] = n % 2 ? [here, database.store] : [there, other.store];
      const position = await count(store, n);
      await projections.catchUp(position, ['Counted']);
      const elsewhere = n % 2 ? other.source : database.source;
      expect(await elsewhere.query('SELECT n FROM reads_v1.counted WHERE n = $1', [n])).toHaveLength(1);
    }),
  );
  expect(await countOf('reads')).toBe(400);
});

describe('events that this process has just stored', () => {
  const seen: RecordedEvent[] = [];
  const witness: Projection = {
    ...{ name: 'witness', version: 1, tables: 'CREATE TABLE nothing ()' },
    handles: ['Noted', 'ContactErased'],
    apply(events) {
      seen.push(...events);
      return Promise.resolve();
    },
  };
  const note = (n: number) => ({
    type: 'Noted',
    data: { b: n, a: [null, 'é'] },
    personal: { name: `Ada ${n}` },
  });
  const append = async (store: EventStore, subjectId: string, version: number, events: DomainEvent[]) => {
    const result = await store.append({
      organizationId,
      metadata: { actor: { type: 'system', id: null }, requestId: 'test' },
      writes: [{ streamType: 'contact', streamId: subjectId, expectedVersion: version, events, subjectId }],
      erases: events.flatMap(({ type }) => (type === 'ContactErased' ? [subjectId] : [])),
    });
    if (result.status !== 'appended') throw new Error(result.status);
    return result.position!;
  };
  const start = async () => {
    seen.length = 0;
    const projections = new Projections(database.source, database.store, [witness], silent);
    await projections.start();
    return projections;
  };

  it('are applied without being read, exactly as they would be read, next to those of other instances', async () => {
    const projections = await start();
    const other = await database.another();
    const [subject, theirs] = [uuidv7(), uuidv7()];
    await append(other.store, theirs, 0, [note(0)]);
    await append(
      database.store,
      subject,
      0,
      Array.from({ length: 40 }, (_, n) => note(n)),
    );
    const last = await append(other.store, theirs, 1, [note(1)]);
    await projections.catchUp(last, ['Noted']);
    expect(seen).toHaveLength(42);
    expect(database.store.appends.justWritten.isEmpty).toBe(true);
    expect(seen).toEqual(await database.store.readAll(0, last, 100, ['Noted']));
  });

  it('are read if one of the page erases a person, so that nothing of them is applied', async () => {
    const projections = await start();
    const subject = uuidv7();
    await append(
      database.store,
      subject,
      0,
      Array.from({ length: 40 }, (_, n) => note(n)),
    );
    const last = await append(database.store, subject, 40, [{ type: 'ContactErased', data: {} }]);
    await projections.catchUp(last, ['ContactErased']);
    expect(seen.map(({ personal }) => personal)).toEqual(Array(41).fill(null));
  });
});

it('does not count a lost connection as a failure, and still shows the write', async () => {
  const cut = counting('cut');
  let cuts = 0;
  const projections = new Projections(
    database.source,
    database.store,
    [
      {
        ...cut,
        async apply(events, transaction, seal) {
          await cut.apply(events, transaction, seal);
          if ((cuts += 1) > 2) return;
          // Once during a statement, once between two statements.
          const [own] = await transaction.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid');
          await database.source.query('SELECT pg_terminate_backend($1)', [own!.pid]);
          if (cuts === 1) await transaction.query('SELECT 1');
          else await new Promise((resolve) => setTimeout(resolve, 100));
        },
      },
    ],
    silent,
  );
  await projections.start();
  await projections.catchUp(await count(database.store, 1), ['Counted']);
  expect(cuts).toBe(3);
  expect(await countOf('cut')).toBe(1);
  expect((await projections.status())[0]!.failure).toBeNull();
});

it('keeps commands and other projections running if one fails, records the position, and recovers by itself', async () => {
  const poisoned = counting('sick', 3);
  const projections = new Projections(database.source, database.store, [poisoned, counting('well')], silent);
  await projections.start();
  const positions: number[] = [];
  for (let n = 0; n < 6; n += 1) positions.push(await count(database.store, n));
  await projections.catchUp(positions.at(-1)!, ['Counted']);

  expect(await countOf('well')).toBe(6);
  expect(await countOf('sick')).toBe(3);
  const [sick, well] = await projections.status();
  expect(sick).toMatchObject({
    name: 'sick',
    failure: { position: positions[3], message: 'cannot digest 3' },
  });
  expect(well).toMatchObject({ name: 'well', lag: 0, failure: null });
  expect(silent.error).toHaveBeenCalledWith(
    expect.objectContaining({ projection: 'sick', position: positions[3] }),
  );
  // A command that arrives during the failure does not wait.
  await projections.catchUp(await count(database.store, 7), ['Counted']);

  const mended = new Projections(database.source, database.store, [counting('sick')], silent);
  await mended.start();
  expect(await countOf('sick')).toBe(7);
  // The instance that saw the failure notices the recovery by its own poll.
  projections.poll();
  await eventually(async () => expect((await projections.status())[0]!.failure).toBeNull());
  await projections.stop();
  expect((await projections.status())[0]).toMatchObject({ lag: 0, failure: null });
});

it('survives a worker whose connection breaks in the middle of a page', async () => {
  let killed = false;
  const fragile: Projection = {
    ...counting('fragile'),
    async apply(events, transaction) {
      await transaction.query('INSERT INTO counted SELECT unnest($1::bigint[])', [
        events.map(({ data }) => data.n),
      ]);
      if (killed) return;
      killed = true;
      const [{ pid }] = await transaction.query<[{ pid: number }]>('SELECT pg_backend_pid() AS pid');
      await database.source.query('SELECT pg_terminate_backend($1)', [pid]);
    },
  };
  const projections = new Projections(database.source, database.store, [fragile], silent);
  await projections.start();
  const position = await count(database.store, 1);
  // The command succeeds whatever happens to the projection. The next one projects both.
  await projections.catchUp(position, ['Counted']);
  await projections.catchUp(await count(database.store, 2), ['Counted']);
  expect(killed).toBe(true);
  expect(await countOf('fragile')).toBe(2);
});

it('catches up in the background with events of a crashed instance', async () => {
  const projections = new Projections(database.source, database.store, [counting('late')], silent);
  await projections.start();
  projections.poll();
  await count(database.store, 1);
  await eventually(async () => expect(await countOf('late')).toBe(1));
  await projections.stop();
  expect(await countOf('late')).toBe(1);
});

it('moves the checkpoint of a projection that handles none of the new events without reading a page', async () => {
  const proxy = await startCountingProxy(database.url);
  const source = await openDatabase({ url: proxy.url, poolSize: 2, migrations: [] });
  const store = new EventStore(source, database.store.keyring);
  const idle: Projection = { ...counting('idle'), handles: ['Elsewhere'] };
  // Status is read after work, and with each heartbeat.
  const options = { heartbeatMs: 200 };
  const projections = new Projections(source, store, [counting('concerned'), idle], silent, options);
  try {
    await projections.start();
    proxy.forget();
    const position = await count(database.store, 1);
    projections.poll();
    await eventually(() =>
      expect(projections.lastSeen?.statuses).toMatchObject([
        { name: 'concerned', position, lag: 0 },
        { name: 'idle', position, lag: 0 },
      ]),
    );
    const pages = proxy.turns.flatMap(({ statements }) =>
      statements
        .map((one) => /advance_checkpoint\('(\w+)'/.exec(one)?.[1])
        .filter((name) => name !== undefined),
    );
    expect(new Set(pages)).toEqual(new Set(['concerned']));
    expect(await countOf('concerned')).toBe(1);
  } finally {
    await projections.stop();
    await source.destroy();
    await proxy.close();
  }
});

it('creates its tables once if many instances start together', async () => {
  const others = await Promise.all(Array.from({ length: 4 }, () => database.another()));
  await Promise.all(
    others.map(({ source, store }) => new Projections(source, store, [counting('once')], silent).start()),
  );
  expect(await countOf('once')).toBe(0);
});

longIt('ends a worker that holds the lease but stopped reading', async () => {
  const projections = new Projections(database.source, database.store, [counting('held')], silent);
  await projections.start();
  const padding = 'x'.repeat(200_000);
  for (let n = 0; n < 120; n += 1) await count(database.store, n, padding);
  // A frozen process: PostgreSQL fills the socket's buffers with the page and waits in an active transaction.
  const stopped = new Client({ connectionString: database.url });
  stopped.on('error', () => undefined);
  await stopped.connect();
  await stopped.query('BEGIN');
  const [own] = (await stopped.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows;
  const { stream } = (stopped as unknown as { connection: { stream: Socket } }).connection;
  stream.pause();
  void stopped
    .query(`SELECT * FROM advance_checkpoint('held', 1, '{Counted}', 5000, '10000', 'held_v1, public')`)
    .catch(() => undefined);
  await eventually(async () => {
    const [activity] = await database.source.query<{ wait_event: string | null }[]>(
      'SELECT wait_event FROM pg_stat_activity WHERE pid = $1',
      [own!.pid],
    );
    expect(activity!.wait_event).toBe('ClientWrite');
  });

  await projections.catchUp(await count(database.store, 120), ['Counted']);
  expect(await countOf('held')).toBe(121);
  stream.destroy();
});

longIt('ends a worker that holds the lease but stopped in the middle of a statement', async () => {
  const projections = new Projections(database.source, database.store, [counting('half')], silent);
  await projections.start();
  await count(database.store, 1);
  // The state after a process freezes while sending a page of changes: PostgreSQL has read one message of the
  // statement, and waits for the next one in an active transaction.
  const stopped = new Client({ connectionString: database.url });
  stopped.on('error', () => undefined);
  await stopped.connect();
  await stopped.query('BEGIN');
  await stopped.query(
    `SELECT FROM advance_checkpoint('half', 1, '{Counted}', 5000, '1000', 'half_v1, public')`,
  );
  const { stream } = (stopped as unknown as { connection: { stream: Socket } }).connection;
  const statement = Buffer.from('\0SELECT 1\0\0\0');
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + statement.length);
  stream.write(Buffer.concat([Buffer.from('P'), length, statement]));

  await projections.catchUp(await count(database.store, 2), ['Counted']);
  expect(await countOf('half')).toBe(2);
  stream.destroy();
});

longDescribe('slow workers', () => {
  const timeoutMs = 200;

  /** Runs two instances that keep PostgreSQL waiting for this long in the middle of each page. */
  async function work(name: string, pauseMs: (events: number) => number): Promise<void> {
    const other = await database.another();
    const projection = counting(name);
    const slow: Projection = {
      ...projection,
      async apply(events, transaction, seal) {
        await projection.apply(events, transaction, seal);
        await sleep(pauseMs(events.length));
        await transaction.query('SELECT 1');
      },
    };
    const instances = [database, other].map(
      ({ source, store }) => new Projections(source, store, [slow], silent, { timeoutMs }),
    );
    await Promise.all(instances.map((projections) => projections.start()));
    for (let n = 0; n < 64; n += 1) await count(database.store, n);
    for (const projections of instances) projections.poll();
    await eventually(async () => expect((await instances[0]!.status())[0]).toMatchObject({ lag: 0 }));
    await Promise.all(instances.map((projections) => projections.stop()));
    expect(await countOf(name)).toBe(64);
    expect((await instances[0]!.status())[0]!.failure).toBeNull();
    expect(silent.error).not.toHaveBeenCalledWith(
      expect.objectContaining({ message: expect.stringContaining('failed'), projection: name }),
    );
  }

  it('progress with smaller pages if the time depends on the page', () =>
    work('heavy', (events) => 25 * events));

  it('progress with longer timeouts if the time does not depend on the page', () =>
    work('sluggish', () => 3 * timeoutMs));
});

it('halves a page that times out, and one that others wait for', async () => {
  const pages: number[] = [];
  const halved = counting('halved');
  const projection: Projection = {
    ...halved,
    async apply(events, transaction, seal) {
      pages.push(events.length);
      await halved.apply(events, transaction, seal);
      if (pages.length === 1) await transaction.query('SET LOCAL statement_timeout = 50');
      if (pages.length <= 2) await transaction.query('SELECT pg_sleep(1.1)');
    },
  };
  const { source, store } = database;
  const projections = new Projections(source, store, [projection], silent);
  const position = await count(store, 1, '', 400);
  await projections.start();
  await projections.catchUp(position, ['Counted']);
  const [ended, long, next] = pages as [number, number, number];
  expect([long, next]).toEqual([ended / 2, ended / 4]);
  expect(await countOf('halved')).toBe(400);
  expect((await projections.status())[0]).toMatchObject({ lag: 0, failure: null });
});

it('skips and logs an event whose personal data cannot be decrypted', async () => {
  const { source, store } = database;
  await count(store, 1);
  const subjectId = uuidv7();
  const events = [{ type: 'Counted', data: { n: 2 }, personal: { name: 'Ada' } }];
  const writes = [{ streamType: 'thing', streamId: subjectId, expectedVersion: 0, subjectId, events }];
  const metadata = { actor: { type: 'system', id: null }, requestId: 'test' } as const;
  const result = await store.append({ organizationId, metadata, writes });
  const position = result.status === 'appended' ? result.position! : 0;
  await count(store, 3);
  await source.query('ALTER TABLE events DISABLE TRIGGER events_are_append_only');
  await source.query('GRANT UPDATE ON events TO CURRENT_USER');
  await source.query(
    'UPDATE events SET personal = set_byte(personal, 40, 255 - get_byte(personal, 40)) WHERE position = $1',
    [position],
  );
  const logged: unknown[] = [];
  const logger = { ...silent, error: (line: unknown) => logged.push(line) };
  const projections = new Projections(source, store, [counting('unreadable')], logger);
  await projections.start();
  expect(await countOf('unreadable')).toBe(2);
  const [status] = await projections.status();
  expect(status).toMatchObject({ lag: 0, failure: null });
  expect(logged).toEqual([
    expect.objectContaining({
      type: 'Counted',
      position,
      reason: expect.stringMatching(/cannot be decrypted/),
    }),
  ]);
});
