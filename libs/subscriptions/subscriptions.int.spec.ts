import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { openDatabase } from '#libs/database';
import { EventStore, type RecordedEvent } from '#libs/event-store';
import { createTestDatabase, eventually, startCountingProxy, type TestDatabase } from '#libs/testing';
import { type Subscription, Subscriptions, type Timer } from './index.js';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
const running: Subscriptions[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.stop()));
  await database.drop();
});

const organizationId = uuidv7();
const metadata = { actor: { type: 'system', id: null }, requestId: 'test' } as const;
const logged: { message: string; position?: number; attempts?: number; reason?: string }[] = [];
const logger = {
  log: () => undefined,
  warn: (line: object) => logged.push(line as (typeof logged)[0]),
  error: (line: object) => logged.push(line as (typeof logged)[0]),
};

async function append(store: EventStore, streamId: string, version: number, n: number): Promise<void> {
  const events = [{ type: 'Happened', data: { n } }];
  const writes = [{ streamType: 'thing', streamId, expectedVersion: version, events }];
  expect(await store.append({ organizationId, metadata, writes })).toMatchObject({ status: 'appended' });
}

/** A subscription that records the numbers of the events it receives, including those it fails to handle. */
function noting(fail: (n: number) => boolean = () => false, pauseMs = 0) {
  const seen: number[] = [];
  const subscription: Subscription = {
    name: 'noting',
    handles: ['Happened'],
    begins: 'at the first event',
    async handle({ data }: RecordedEvent) {
      const n = data.n as number;
      seen.push(n);
      if (pauseMs > 0) await sleep(pauseMs);
      if (fail(n)) throw new Error(`not ${n}`);
    },
  };
  return { seen, subscription };
}

async function start(subscription: Subscription, timers: Timer[] = []): Promise<Subscriptions> {
  const { source, store } = await database.another();
  const one = new Subscriptions(source, store, logger);
  running.push(one);
  one.start([subscription], timers);
  return one;
}

const hurry = (table = 'subscription_retries', column = 'due_at') =>
  database.source.query(`UPDATE ${table} SET ${column} = clock_timestamp() WHERE ${column} IS NOT NULL`);
const statusOf = async (one: Subscriptions) => (await one.status())[0]!;

it('delivers each event once to one of several instances, and events of one stream in order', async () => {
  const { seen, subscription } = noting();
  const streams = Array.from({ length: 20 }, () => uuidv7());
  const instances = await Promise.all([start(subscription), start(subscription), start(subscription)]);
  for (let version = 0; version < 30; version += 1) {
    await Promise.all(streams.map((id, n) => append(database.store, id, version, n * 100 + version)));
  }
  await eventually(() => expect(seen).toHaveLength(600));
  for (let n = 0; n < 20; n += 1) {
    const own = seen.filter((one) => Math.floor(one / 100) === n);
    expect(own).toEqual(own.toSorted((one, other) => one - other));
  }
  expect(new Set(seen).size).toBe(600);
  await eventually(async () =>
    expect(await statusOf(instances[0])).toMatchObject({ lag: 0, retrying: 0, parked: 0 }),
  );
});

it('begins with the first event or with new ones, as declared, and only once', async () => {
  await append(database.store, uuidv7(), 0, 1);
  const { seen, subscription } = noting();
  const late: Subscription = { ...subscription, name: 'late', begins: 'now' };
  const first = await start(late);
  await eventually(async () => expect(await first.status()).toMatchObject([{ name: 'late', lag: 0 }]));
  await append(database.store, uuidv7(), 0, 2);
  await eventually(() => expect(seen).toEqual([2]));
  await first.stop();
  await append(database.store, uuidv7(), 0, 3);
  await start(late);
  await eventually(() => expect(seen).toEqual([2, 3]));
});

it('reads no page for a subscription that handles none of the new events, but advances its cursor', async () => {
  const proxy = await startCountingProxy(database.url);
  const source = await openDatabase({ url: proxy.url, poolSize: 2, migrations: [] });
  const { seen, subscription } = noting();
  const one = new Subscriptions(source, new EventStore(source, database.store.keyring), logger);
  const readPages = () =>
    proxy.turns.flatMap(({ statements }) => statements.filter((text) => text.includes('page_end('))).length;
  try {
    await append(database.store, uuidv7(), 0, 1);
    one.start([{ ...subscription, name: 'idle', handles: ['Elsewhere'] }]);
    await eventually(() => expect(one.lastSeen).toMatchObject([{ position: 1, lag: 0 }]));
    expect(readPages()).toBe(0);
    await one.stop();
    const other = new Subscriptions(source, new EventStore(source, database.store.keyring), logger);
    running.push(other);
    other.start([subscription]);
    await eventually(() => expect(seen).toEqual([1]));
    expect(readPages()).toBe(1);
    await other.stop();
  } finally {
    await one.stop();
    await source.destroy();
    await proxy.close();
  }
});

it('postpones a failing event and later ones of its stream, and continues with all others', async () => {
  let isBroken = true;
  const { seen, subscription } = noting((n) => isBroken && n === 1);
  const [own, other] = [uuidv7(), uuidv7()];
  for (const [version, n] of [1, 2, 3].entries()) await append(database.store, own, version, n);
  await append(database.store, other, 0, 10);
  const one = await start(subscription);
  await eventually(async () => expect(await statusOf(one)).toMatchObject({ lag: 0, retrying: 3 }));
  expect(seen.toSorted()).toEqual([1, 10]);
  isBroken = false;
  await append(database.store, own, 3, 4);
  await hurry();
  await eventually(async () => {
    await hurry();
    expect(await statusOf(one)).toMatchObject({ lag: 0, retrying: 0 });
  });
  expect(seen.filter((n) => n < 10)).toEqual([1, 1, 2, 3, 4]);
});

it('dead-letters an event after eight failures, continues its stream, and retries it for an operator', async () => {
  let isBroken = true;
  const { seen, subscription } = noting((n) => isBroken && n === 1);
  const stream = uuidv7();
  await append(database.store, stream, 0, 1);
  await append(database.store, stream, 1, 2);
  logged.length = 0;
  const one = await start(subscription);
  await eventually(async () => {
    await hurry();
    expect(await statusOf(one)).toMatchObject({ parked: 1, retrying: 0 });
  });
  expect(seen).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 2]);
  const own = logged.filter(({ reason }) => reason === 'not 1');
  expect(own.map(({ attempts }) => attempts)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(own.at(-1)!.message).toContain('dead letter');
  const { parkedEvents } = await statusOf(one);
  expect(parkedEvents).toMatchObject([{ position: own[0]!.position, reason: 'not 1', organizationId }]);

  isBroken = false;
  await expect(one.retry('nothing')).rejects.toThrow('Available subscriptions: noting');
  expect(await one.retry('noting', own[0]!.position! + 1)).toBe(0);
  expect(await one.retry('noting')).toBe(1);
  await eventually(async () => expect(await statusOf(one)).toMatchObject({ parked: 0, retrying: 0 }));
  expect(seen.at(-1)).toBe(1);
  expect(await one.skip('noting', own[0]!.position!)).toBe(false);
});

it('drops an event that an operator skips', async () => {
  const { subscription } = noting(() => true);
  await append(database.store, uuidv7(), 0, 1);
  const one = await start(subscription);
  await eventually(async () => expect(await statusOf(one)).toMatchObject({ lag: 0, retrying: 1 }));
  const [{ position }] = await database.source.query('SELECT position FROM subscription_retries');
  expect(await one.skip('noting', Number(position))).toBe(true);
  expect(await statusOf(one)).toMatchObject({ retrying: 0, parked: 0 });
});

it('continues in the middle of a page if the previous instance stopped there', async () => {
  for (let n = 0; n < 60; n += 1) await append(database.store, uuidv7(), 0, n);
  const { seen, subscription } = noting();
  let isStuck = false;
  let thaw!: () => void;
  const thawed = new Promise<void>((resolve) => (thaw = resolve));
  const frozen = await start({
    ...subscription,
    async handle() {
      const isFirst = !isStuck;
      isStuck = true;
      // Like a frozen process: the lease expires without being renewed.
      if (isFirst)
        await database.source.query(
          'UPDATE subscriptions SET held_until = clock_timestamp(), holder = gen_random_uuid()',
        );
      await thawed;
    },
  });
  await eventually(() => expect(isStuck).toBe(true));
  const other = await start(subscription);
  await eventually(() => expect(new Set(seen).size).toBe(60));
  thaw();
  await frozen.stop();
  // The late process has neither moved the cursor back nor stored anything.
  expect(await statusOf(other)).toMatchObject({ lag: 0, retrying: 0, parked: 0 });
});

it('needs no more than one connection', async () => {
  const source = await openDatabase({ url: database.url, poolSize: 1, migrations: [] });
  try {
    const store = new EventStore(source, database.store.keyring);
    const { seen, subscription } = noting();
    const own = new Subscriptions(source, store, logger);
    running.push(own);
    const [one, other] = [uuidv7(), uuidv7()];
    own.start([
      {
        ...subscription,
        async handle(event, signal) {
          await subscription.handle(event, signal);
          if (event.streamId === one) await append(store, other, 0, 2);
        },
      },
    ]);
    await append(database.store, one, 0, 1);
    await eventually(() => expect(seen).toEqual([1, 2]));
    await own.stop();
  } finally {
    await source.destroy();
  }
});

it('holds no lock during handling that would block commands or a lock on the log', async () => {
  const { source } = await database.another();
  let isLocked = false;
  const subscription: Subscription = {
    ...noting().subscription,
    async handle() {
      await source.transaction((sql) => sql.query('LOCK TABLE events, checkpoints, unique_keys'));
      isLocked = true;
    },
  };
  await append(database.store, uuidv7(), 0, 1);
  await start(subscription);
  await eventually(() => expect(isLocked).toBe(true));
});

it('a timer that is set again while it fires is due again', async () => {
  const fired: number[] = [];
  const id = uuidv7();
  const { source } = await database.another();
  const own = new Subscriptions(source, database.store, logger);
  const set = (dueAt: Date) => own.timers.set('alarm', { organizationId, id, dueAt });
  const timer: Timer = {
    name: 'alarm',
    async fire({ dueAt }) {
      fired.push(dueAt.getTime());
      if (fired.length < 3) await set(new Date(dueAt.getTime() + 1));
    },
  };
  const first = Date.now();
  await set(new Date(first));
  await start(noting().subscription, [timer]);
  await eventually(() => expect(fired).toEqual([first, first + 1, first + 2]));
  await eventually(async () => expect(await database.source.query('SELECT FROM timers')).toEqual([]));
});

it('fires a due timer once across all instances, even after downtime, and again if it fails', async () => {
  const fired: string[] = [];
  let failures = 1;
  const timer: Timer = {
    name: 'alarm',
    async fire({ id }) {
      fired.push(id);
      await sleep(10);
      if (failures-- > 0) throw new Error('not yet');
    },
  };
  const { subscription } = noting();
  const waiting = new Subscriptions(database.source, database.store, logger);
  const [past, soon, never, cleared] = [uuidv7(), uuidv7(), uuidv7(), uuidv7()];
  const at = (ms: number) => new Date(Date.now() + ms);
  const set = (id: string, dueAt: Date) => waiting.timers.set('alarm', { organizationId, id, dueAt });
  await set(past, at(-60_000));
  await set(soon, at(60_000));
  await set(never, at(60_000));
  await set(cleared, at(-1));
  await waiting.timers.clear('alarm', cleared);
  await Promise.all([1, 2, 3].map(() => start(subscription, [timer])));
  await eventually(() => expect(fired).toEqual([past]));
  await set(soon, at(0));
  await eventually(() => expect(fired).toEqual([past, soon]));
  await database.source.query(`UPDATE timers SET next_at = clock_timestamp() WHERE id = $1`, [past]);
  await eventually(() => expect(fired).toEqual([past, soon, past]));
  await eventually(async () =>
    expect(await database.source.query('SELECT id FROM timers')).toEqual([{ id: never }]),
  );
});
