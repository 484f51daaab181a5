import { randomUUID } from 'node:crypto';
import { openDatabase } from '#libs/database';
import { createTestDatabase, eventually, startCountingProxy, type TestDatabase } from '#libs/testing';
import { Keyring } from './keyring.js';
import { EventStore } from './event-store.js';
import { Pulse } from './pulse.js';
import { longIt } from '../../test/length.js';

let database: TestDatabase;
const LONG = 3_600_000;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.source.query('CREATE TABLE work (id int)');
});
afterAll(() => database.drop());
beforeEach(() => database.source.query('TRUNCATE work'));

const newStore = () => new EventStore(database.source, new Keyring(Buffer.alloc(32, 1)));
const HAS_WORK = 'EXISTS (SELECT FROM work)';

/** Counts how often a poller was woken. */
function counting(wait: () => Promise<void>, stop: AbortSignal): { times: number; ended: Promise<void> } {
  const count = { times: 0, ended: Promise.resolve() };
  count.ended = (async () => {
    for (;;) {
      await wait();
      if (stop.aborted) return;
      count.times += 1;
    }
  })();
  return count;
}

it('wakes only work that has something to do, repeatedly as long as it has', async () => {
  const { pulse } = newStore();
  const stop = new AbortController();
  const [busy, idle] = [HAS_WORK, 'false'].map((question) => {
    const watch = pulse.watch(question);
    return counting(() => watch.next(stop.signal, LONG), stop.signal);
  });
  await database.source.query('INSERT INTO work VALUES (1)');
  await eventually(() => expect(busy!.times).toBeGreaterThan(2));
  expect(idle!.times).toBe(0);
  stop.abort();
  await Promise.all([busy!.ended, idle!.ended]);
});

it('loops that wait for the same work are all woken, and hear of the stop after another one has timed out', async () => {
  const watch = newStore().pulse.watch('false');
  const stop = new AbortController();
  const woken = [watch.next(stop.signal, LONG), watch.next(stop.signal, LONG)];
  watch.wake();
  expect(watch.isWaiting).toBe(false);
  await Promise.all(woken);

  const first = watch.next(stop.signal, 1);
  const second = watch.next(stop.signal, LONG);
  await first;
  expect(watch.isWaiting).toBe(true);
  stop.abort();
  expect(watch.isWaiting).toBe(false);
  await second;
});

it('polls with one statement for all work, and not while none waits', async () => {
  const proxy = await startCountingProxy(database.url);
  const source = await openDatabase({ url: proxy.url, poolSize: 2, migrations: [] });
  const pulse = new Pulse(source);
  const stop = new AbortController();
  const watches = Array.from({ length: 10 }, () => pulse.watch('false'));
  const waiting = watches.map((watch) => watch.next(stop.signal, LONG));
  await eventually(() => expect(pulse.answeredAt).toBeGreaterThan(0));
  proxy.forget();
  const before = pulse.answeredAt;
  await eventually(() => expect(pulse.answeredAt).toBeGreaterThan(before));
  await proxy.quiet();
  expect(proxy.turns.length).toBeLessThanOrEqual(2);
  stop.abort();
  await Promise.all(waiting);
  const last = pulse.answeredAt;
  // A marker: by now, another pulse has polled three times.
  const other = newStore().pulse;
  const marker = other.watch('true');
  for (let n = 0; n < 3; n += 1) await marker.next(new AbortController().signal, LONG);
  expect(pulse.answeredAt).toBe(last);
  await source.destroy();
  await proxy.close();
});

longIt('polls less often if there was nothing to do for a while', async () => {
  const proxy = await startCountingProxy(database.url);
  const source = await openDatabase({ url: proxy.url, poolSize: 2, migrations: [] });
  const idle = new Pulse(source, 0);
  const stop = new AbortController();
  const waiting = idle.watch('false').next(stop.signal, LONG);
  await eventually(() => expect(idle.answeredAt).toBeGreaterThan(0));
  proxy.forget();
  // A busy one, which polls four times as often.
  const busy = newStore().pulse.watch('true');
  for (let n = 0; n < 12; n += 1) await busy.next(new AbortController().signal, LONG);
  expect(proxy.turns.length).toBeGreaterThan(0);
  expect(proxy.turns.length).toBeLessThanOrEqual(6);
  stop.abort();
  await waiting;
  await source.destroy();
  await proxy.close();
});

it('wakes the work that an append of the same instance concerns, without polling', async () => {
  const store = newStore();
  const stop = new AbortController();
  const metadata = { actor: { type: 'system' as const, id: 'test' }, requestId: 'test' };
  const organizationId = randomUUID();
  const watch = store.pulse.watch('false', (appended) => appended.organizationId === organizationId);
  const other = store.pulse.watch('false');
  const [woken, asleep] = [watch, other].map((one) =>
    counting(() => one.next(stop.signal, LONG), stop.signal),
  );
  const append = (to: string) =>
    store.append({
      organizationId: to,
      metadata,
      writes: [
        {
          streamType: 'thing',
          streamId: randomUUID(),
          expectedVersion: 0,
          events: [{ type: 'Made', data: {} }],
        },
      ],
    });
  await append(randomUUID());
  await append(organizationId);
  await eventually(() => expect(woken!.times).toBe(1));
  expect(asleep!.times).toBe(0);
  stop.abort();
  await Promise.all([woken!.ended, asleep!.ended]);
});

it('remembers a call that arrives while the work is running', async () => {
  const { pulse } = newStore();
  const watch = pulse.watch('false');
  watch.wake();
  await watch.next(new AbortController().signal, LONG);
});

it('wakes all work if the poll gets no answer, so that a locked table does not delay work on others', async () => {
  const { pulse } = newStore();
  const stop = new AbortController();
  pulse.watch(HAS_WORK);
  const watch = pulse.watch('false');
  const other = counting(() => watch.next(stop.signal, LONG), stop.signal);
  const holder = database.source.createQueryRunner();
  await holder.startTransaction();
  await holder.query('SET LOCAL idle_in_transaction_session_timeout = 0');
  await holder.query('LOCK TABLE work');
  await eventually(() => expect(other.times).toBeGreaterThan(0));
  await holder.rollbackTransaction();
  await holder.release();
  stop.abort();
  await other.ended;
});
