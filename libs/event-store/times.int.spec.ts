import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { v7 as uuidv7 } from 'uuid';
import { migrate, openDatabase } from '#libs/database';
import { createTestDatabase, findProgram, startPostgres, type TestDatabase } from '#libs/testing';
import { migrations } from '#migrations';
import { eventDigest } from './digest.js';
import { type AppendCommand, EventStore, Keyring, type StreamWrite } from './index.js';
import { longIt } from '../../test/length.js';

/**
 * The server's clock as this test sets it: PostgreSQL looks for functions in `clock` before its own, and
 * `append_events` looks where its caller does.
 */
const CLOCK = `
  CREATE SCHEMA clock;
  CREATE TABLE clock.set (off interval NOT NULL);
  INSERT INTO clock.set VALUES ('0');
  CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT pg_catalog.clock_timestamp() + (SELECT off FROM clock.set)'`;

let database: TestDatabase;
let store: EventStore;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.source.query(CLOCK);
  const name = new URL(database.url).pathname.slice(1);
  await database.source.query(`ALTER DATABASE ${name} SET search_path = clock, pg_catalog, public`);
  ({ store } = await database.another());
});
afterAll(() => database.drop());
beforeEach(() => setClock('0'));

const setClock = (off: string) => database.source.query('UPDATE clock.set SET off = $1', [off]);

const organizationId = uuidv7();
const metadata = { actor: { type: 'system', id: null }, requestId: 'test' } as const;

function write(streamId: string, expectedVersion: number, events = 1): StreamWrite {
  const happened = Array.from({ length: events }, () => ({ type: 'Happened', data: {} }));
  return { streamType: 'thing', streamId, expectedVersion, events: happened };
}

async function append(...writes: StreamWrite[]): Promise<Date> {
  return appendCommand({ organizationId, metadata, writes });
}

async function appendCommand(command: AppendCommand): Promise<Date> {
  const result = await store.append(command);
  if (result.status !== 'appended') throw new Error(result.status);
  return result.recordedAt;
}

async function times(streamId: string): Promise<number[]> {
  const events = await store.readStream(organizationId, streamId);
  for (const event of events) {
    const { streamType, version, eventId, type, schema, data, subjectId, recordedAt } = event;
    const stored = { organizationId, streamType, streamId, version, eventId, type, schema, data, subjectId };
    expect(event.digest).toEqual(eventDigest({ ...stored, personal: null, metadata }, recordedAt));
  }
  return events.map(({ recordedAt }) => recordedAt.getTime());
}

it('keeps the last time for streams that are ahead of a clock that was set back, and for no other', async () => {
  const [ahead, other] = [uuidv7(), uuidv7()];
  await append(write(other, 0));
  const before = await append(write(ahead, 0, 2));
  await setClock('-1 hour');
  // In one call.
  const [again, elsewhere] = await Promise.all([append(write(ahead, 2)), append(write(uuidv7(), 0))]);
  expect(again).toEqual(before);
  expect(elsewhere.getTime()).toBeLessThan(before.getTime());
  await setClock('1 minute');
  const after = await append(write(ahead, 3));
  expect(await times(ahead)).toEqual([before, before, before, after].map((time) => time.getTime()));
  expect(after.getTime()).toBeGreaterThan(before.getTime());
});

it('gives the events of a command one time, not before any stream that it writes to or depends on', async () => {
  const [written, guarded] = [uuidv7(), uuidv7()];
  await append(write(written, 0));
  await setClock('2 hours');
  const latest = await append(write(guarded, 0));
  await setClock('-1 hour');
  const fresh = uuidv7();
  const recordedAt = await appendCommand({
    organizationId,
    metadata,
    writes: [write(written, 1), write(fresh, 0)],
    guards: [{ streamId: guarded, version: 1 }],
  });
  expect(recordedAt).toEqual(latest);
  expect((await times(written))[1]).toBe(latest.getTime());
  expect(await times(fresh)).toEqual([latest.getTime()]);
});

it('ignores the time of a rejected command in its call', async () => {
  const ahead = uuidv7();
  await setClock('1 year');
  const far = await append(write(ahead, 0));
  await setClock('0');
  const [rejected, stored] = await Promise.all([
    store.append({ organizationId, metadata, writes: [write(ahead, 7)] }),
    append(write(uuidv7(), 0)),
  ]);
  expect(rejected.status).toBe('version');
  expect(stored.getTime()).toBeLessThan(far.getTime());
});

it('reads a past state as a complete prefix of the stream, even if the times of an earlier version decrease', async () => {
  const id = uuidv7();
  const first = await append(write(id, 0));
  const moment = (minutes: number) => new Date(first.getTime() + minutes * 60_000);
  // As recorded by versions before 0.3.0.
  await database.source.query(
    `INSERT INTO events SELECT nextval('events_position'), organization_id, stream_type, stream_id, v, gen_random_uuid(),
       type, schema, data, personal, subject_id, metadata, recorded_at + at, digest
     FROM events, (VALUES (2, interval '60 min'), (3, interval '10 min'), (4, interval '70 min')) AS later(v, at)
     WHERE stream_id = $1`,
    [id],
  );
  const versions = async (until: Date) =>
    (await store.readStream(organizationId, id, { moment: until })).map(({ version }) => version);
  expect(await versions(moment(-1))).toEqual([]);
  expect(await versions(moment(30))).toEqual([1]);
  expect(await versions(moment(65))).toEqual([1, 2, 3]);
  expect(await versions(moment(80))).toEqual([1, 2, 3, 4]);
});

/** PostgreSQL's whole clock is behind, as after a failover to such a host. */
longIt('does not set a stream back if the server returns an hour behind', async () => {
  const faketime = findProgram('faketime');
  if (!faketime) return;
  const { stdout } = await promisify(execFile)(faketime, ['-f', '+0', 'env']);
  const { LD_PRELOAD } = Object.fromEntries(stdout.split('\n').map((line) => line.split(/=(.*)/s)));
  const server = await startPostgres();
  try {
    const id = uuidv7();
    /** On new connections, because the server was restarted. */
    const appendThere = async (expectedVersion: number): Promise<{ own: Date; other: Date }> => {
      const source = await openDatabase({ url: server.url, poolSize: 4, migrations });
      try {
        await migrate(source);
        const there = new EventStore(source, new Keyring(Buffer.alloc(32, 1)));
        const results = await Promise.all(
          [write(id, expectedVersion), write(uuidv7(), 0)].map((one) =>
            there.append({ organizationId, metadata, writes: [one] }),
          ),
        );
        const [own, other] = results.map((result) => {
          if (result.status !== 'appended') throw new Error(result.status);
          return result.recordedAt;
        });
        return { own: own!, other: other! };
      } finally {
        await source.destroy();
      }
    };
    const before = await appendThere(0);
    await server.stop('fast');
    await server.start({ LD_PRELOAD: LD_PRELOAD!, FAKETIME: '-1h', FAKETIME_DONT_FAKE_MONOTONIC: '1' });
    const behind = await appendThere(1);
    expect(behind.own).toEqual(before.own);
    expect(behind.other.getTime()).toBeLessThan(before.other.getTime());
    await server.stop('fast');
    await server.start();
    const after = await appendThere(2);
    expect(after.own.getTime()).toBeGreaterThan(behind.own.getTime());
  } finally {
    await server.remove();
  }
});
