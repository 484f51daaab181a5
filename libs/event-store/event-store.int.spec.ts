import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { Erasure1764000000008 } from '../../migrations/0008-erasure.js';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { appendBatch } from './append.js';
import { canonical } from './canonical.js';
import { eventDigest } from './digest.js';
import {
  type AppendCommand,
  type DomainEvent,
  type EventStore,
  GivenUp,
  type StreamNow,
  type StreamWrite,
} from './index.js';
import { EVENTS_WITH_KEYS, OF_REQUEST, READ_ALL, TOUCHED } from './event-queries.js';

let database: TestDatabase;
let store: EventStore;
beforeAll(async () => {
  database = await createTestDatabase();
  store = database.store;
});
afterAll(() => database.drop());

const organizationId = uuidv7();
const metadata = { actor: { type: 'system', id: null }, requestId: 'test' } as const;
const happened: DomainEvent = { type: 'Happened', data: { n: 1 } };

function write(streamId: string, expectedVersion: number, ...events: DomainEvent[]): StreamWrite {
  return { streamType: 'thing', streamId, expectedVersion, events: events.length > 0 ? events : [happened] };
}
function command(writes: StreamWrite[], rest: Partial<AppendCommand> = {}): AppendCommand {
  return { organizationId, metadata, writes, ...rest };
}
const key = (text: string) => store.keyring.hash(text);
async function streamOf(streamId: string) {
  return store.readStream(organizationId, streamId);
}

describe('append', () => {
  it('stores the events of several streams in order', async () => {
    const [a, b] = [uuidv7(), uuidv7()];
    const result = await store.append(
      command([write(a, 0, happened, { type: 'Again', data: {} }), write(b, 0)]),
    );
    const [first, second] = await streamOf(a);
    const [third] = await streamOf(b);
    expect(result).toEqual({
      status: 'appended',
      position: third!.position,
      recordedAt: third!.recordedAt,
    });
    expect([first!.type, second!.type, third!.type]).toEqual(['Happened', 'Again', 'Happened']);
    expect([first!.version, second!.version, third!.version]).toEqual([1, 2, 1]);
    expect(first!.position).toBeLessThan(second!.position);
    expect(second!.position).toBeLessThan(third!.position);
  });

  it('does not store a command whose caller gave up while it was waiting', async () => {
    const other = await database.another();
    const holder = database.source.createQueryRunner();
    await holder.startTransaction();
    await holder.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    await holder.query('LOCK TABLE events IN EXCLUSIVE MODE');
    // Calls of maximum size, so that the next command waits behind them.
    const calls = () => Array.from({ length: 2_000 }, () => write(uuidv7(), 0));
    const running = [other.store.append(command(calls())), other.store.append(command(calls()))];
    const [a, b] = [uuidv7(), uuidv7()];
    let isGivenUp = false;
    const isWaitedFor = { isGivenUp: () => isGivenUp };
    const late = other.store.append(command([write(a, 0)], isWaitedFor)).catch((error: unknown) => error);
    const others = other.store.append(command([write(b, 0)]));
    isGivenUp = true;
    await holder.rollbackTransaction();
    await holder.release();
    expect(await late).toBeInstanceOf(GivenUp);
    expect((await others).status).toBe('appended');
    await Promise.all(running);
    expect(await streamOf(a)).toEqual([]);
    expect(await streamOf(b)).toHaveLength(1);
  });

  it('rejects a wrong expected version and stores nothing of the command', async () => {
    const [a, b] = [uuidv7(), uuidv7()];
    await store.append(command([write(a, 0)]));
    expect(await store.append(command([write(b, 0), write(a, 0)]))).toEqual({ status: 'version' });
    expect(await store.append(command([write(b, 0), write(a, 2)]))).toEqual({ status: 'version' });
    expect(await streamOf(b)).toEqual([]);
    expect(await streamOf(a)).toHaveLength(1);
  });

  it('admits one of many concurrent writers of a version, across two instances', async () => {
    const other = await database.another();
    const a = uuidv7();
    const results = await Promise.all(
      Array.from({ length: 60 }, (_, i) => (i % 2 ? store : other.store).append(command([write(a, 0)]))),
    );
    expect(results.filter(({ status }) => status === 'appended')).toHaveLength(1);
    const next = await Promise.all(
      Array.from({ length: 60 }, (_, i) => (i % 2 ? store : other.store).append(command([write(a, 1)]))),
    );
    expect(next.filter(({ status }) => status === 'appended')).toHaveLength(1);
    expect(next.filter(({ status }) => status === 'version')).toHaveLength(59);
    expect((await streamOf(a)).map(({ version }) => version)).toEqual([1, 2]);
  });

  it('assigns a unique key to one stream, even if others claim it in the same call and on two instances', async () => {
    const other = await database.another();
    const email = key('ada@example.org');
    const results = await Promise.all(
      Array.from({ length: 60 }, (_, i) => {
        const streamId = uuidv7();
        const claims = [{ key: email, streamId }];
        return (i % 2 ? store : other.store).append(command([write(streamId, 0)], { claims }));
      }),
    );
    const won = results.filter(({ status }) => status === 'appended');
    const lost = results.filter((result) => result.status === 'taken');
    expect([won.length, lost.length]).toEqual([1, 59]);
    expect(new Set(lost.flatMap(({ keys }) => keys.map(({ owner }) => owner))).size).toBe(1);
  });

  it('allows another stream to claim a key that was released or whose record was deleted', async () => {
    const [a, b, c] = [uuidv7(), uuidv7(), uuidv7()];
    const claim = (streamId: string) => ({ claims: [{ key: key('moving'), streamId }] });
    await store.append(command([write(a, 0)], claim(a)));
    expect((await store.append(command([write(b, 0)], claim(b)))).status).toBe('taken');
    await store.append(command([write(a, 1)], { releases: [{ key: key('moving'), streamId: a }] }));
    expect((await store.append(command([write(b, 0)], claim(b)))).status).toBe('appended');
    await store.append(command([write(b, 1)], { erases: [b] }));
    expect((await store.append(command([write(c, 0)], claim(c)))).status).toBe('appended');
  });

  it('releases the keys of links with their subject, even those that earlier versions left behind', async () => {
    const [person, link, other] = [uuidv7(), uuidv7(), uuidv7()];
    const links = async () => {
      await store.append(command([{ ...write(person, 0), subjectId: person }]));
      await store.append(command([{ ...write(other, 0), subjectId: other }]));
      for (const [streamId, subjectId] of [
        [link, person],
        [uuidv7(), other],
      ] as const) {
        const claims = [{ key: key(`link of ${subjectId}`), streamId }];
        const linked = await store.append(command([{ ...write(streamId, 0), subjectId }], { claims }));
        expect(linked.status).toBe('appended');
      }
    };
    const held = async () => [
      ...(
        await store.findOwners(organizationId, [key(`link of ${person}`), key(`link of ${other}`)])
      ).values(),
    ];
    const migration = new Erasure1764000000008();
    const runner = database.source.createQueryRunner();
    try {
      await migration.down(runner);
      await links();
      const erased = { type: 'ContactErased', data: {} };
      await store.append(command([{ ...write(person, 1, erased), subjectId: person }], { erases: [person] }));
      expect(await held()).toHaveLength(2);
      await migration.up(runner);
      expect(await held()).toHaveLength(1);
      await store.append(command([{ ...write(other, 1, erased), subjectId: other }], { erases: [other] }));
      expect(await held()).toEqual([]);
    } finally {
      await runner.release();
    }
  });

  it('releases a key only for the stream that owns it', async () => {
    const [a, b] = [uuidv7(), uuidv7()];
    const claims = [{ key: key('held'), streamId: a }];
    await store.append(command([write(a, 0)], { claims }));
    await store.append(command([write(b, 0)], { releases: [{ key: key('held'), streamId: b }] }));
    const again = [{ key: key('held'), streamId: b }];
    expect((await store.append(command([write(b, 1)], { claims: again }))).status).toBe('taken');
  });

  it('reserves nothing for a command that fails', async () => {
    const [a, b, c] = [uuidv7(), uuidv7(), uuidv7()];
    await store.append(command([write(a, 0)], { claims: [{ key: key('taken'), streamId: a }] }));
    const claims = [
      { key: key('free'), streamId: b },
      { key: key('taken'), streamId: b },
    ];
    const idempotency = { key: key('request 1'), fingerprint: key('body'), result: {} };
    // In one call with a command that claims the key that the failing one would have reserved.
    const [failed, neighbour] = await Promise.all([
      store.append(command([write(b, 0)], { claims, idempotency })),
      store.append(command([write(c, 0)], { claims: [{ key: key('free'), streamId: c }] })),
    ]);
    expect(failed).toMatchObject({ status: 'taken', keys: [{ owner: a }] });
    expect(neighbour.status).toBe('appended');
    expect(await store.findIdempotent(organizationId, key('request 1'))).toBeUndefined();
    expect(await streamOf(b)).toEqual([]);
  });

  it('returns the first result for a used idempotency key, even to concurrent duplicates', async () => {
    const other = await database.another();
    const idempotency = (n: number) => ({
      idempotency: { key: key('request 2'), fingerprint: key('body 2'), result: { n } },
    });
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        (n % 2 ? store : other.store).append(command([write(uuidv7(), 0)], idempotency(n))),
      ),
    );
    const replayed = results.filter((result) => result.status === 'replayed');
    expect(results.filter(({ status }) => status === 'appended')).toHaveLength(1);
    expect(replayed).toHaveLength(49);
    expect(new Set(replayed.map(({ result }) => JSON.stringify(result))).size).toBe(1);
    expect(replayed[0]!.fingerprint.equals(key('body 2'))).toBe(true);
  });

  it('returns the replay before a version conflict', async () => {
    const a = uuidv7();
    await store.append(command([write(a, 0)]));
    const idempotency = { key: key('request 3'), fingerprint: key('body'), result: {} };
    expect((await store.append(command([write(a, 1)], { idempotency }))).status).toBe('appended');
    expect((await store.append(command([write(a, 1)], { idempotency }))).status).toBe('replayed');
  });

  it('isolates a command that PostgreSQL rejects from others in its call', async () => {
    const streams = Array.from({ length: 20 }, () => uuidv7());
    const results = await Promise.allSettled(
      streams.map((streamId, i) =>
        store.append(command([write(streamId, 0, { type: 'Odd', data: { text: i === 7 ? 'a\0b' : 'ab' } })])),
      ),
    );
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    expect(results[7]!.status).toBe('rejected');
    expect(await streamOf(streams[7]!)).toEqual([]);
    expect(await streamOf(streams[8]!)).toHaveLength(1);
  });
});

describe('personal data', () => {
  const personal = { email: 'grace@example.org', firstName: 'Grace' };

  it('is stored with a salt and covered by a digest, and read without the salt', async () => {
    const a = uuidv7();
    const two = [
      { type: 'Created', data: {}, personal },
      { type: 'Kept', data: {}, personal },
    ];
    await store.append(command([{ ...write(a, 0, ...two), subjectId: a }]));
    expect((await streamOf(a)).map((event) => event.personal)).toEqual([personal, personal]);
    const { events } = await store.readHistory(
      organizationId,
      { after: 0, upTo: await store.horizon() },
      10_000,
    );
    const stored = events.filter((event) => event.streamId === a);
    for (const event of stored) {
      expect(event.personal).toEqual({ ...personal, $salt: expect.stringMatching(/^[\w+/]{22}==$/) });
      const { personalDigest } = event.metadata as unknown as { personalDigest: string };
      expect(createHash('sha256').update(canonical(event.personal)).digest('hex')).toBe(personalDigest);
    }
    // The same data has another salt each time, so equal digests do not show that it has not changed.
    expect(new Set(stored.map((event) => event.personal!.$salt)).size).toBe(2);
  });

  it('is encrypted at rest and readable until its subject is erased', async () => {
    const a = uuidv7();
    await store.append(command([{ ...write(a, 0, { type: 'Created', data: {}, personal }), subjectId: a }]));
    await store.append(
      command([
        { ...write(a, 1, { type: 'Changed', data: {}, personal: { firstName: 'G.' } }), subjectId: a },
      ]),
    );
    const [created, changed] = await streamOf(a);
    expect(created!.personal).toEqual(personal);
    expect(changed!.personal).toEqual({ firstName: 'G.' });
    const rows = await database.source.query('SELECT * FROM events WHERE stream_id = $1', [a]);
    expect(JSON.stringify(rows) + rows.map((row: any) => row.personal.toString('latin1')).join()).not.toMatch(
      /grace/i,
    );
  });

  it('is null after its subject is erased, and the stored events do not change', async () => {
    const a = uuidv7();
    await store.append(command([{ ...write(a, 0, { type: 'Created', data: {}, personal }), subjectId: a }]));
    const [before] = await streamOf(a);
    await store.append(command([write(a, 1)], { erases: [a] }));
    const [after] = await streamOf(a);
    expect(after!.personal).toBeNull();
    expect(after!.digest).toEqual(before!.digest);
    expect(await database.source.query('SELECT 1 FROM subject_keys WHERE subject_id = $1', [a])).toEqual([]);
  });

  it('is not stored for an erased subject, and the command has to decide again', async () => {
    const [a, b] = [uuidv7(), uuidv7()];
    await store.append(command([{ ...write(a, 0, { type: 'Created', data: {}, personal }), subjectId: a }]));
    await store.append(command([write(a, 1)], { erases: [a] }));
    const about = { ...write(b, 0, { type: 'Noted', data: {}, personal }), subjectId: a };
    expect(await store.append(command([about]))).toEqual({ status: 'version' });
    expect(await streamOf(b)).toEqual([]);
  });
});

describe('digest', () => {
  it('can be recomputed from the stored row', async () => {
    const a = uuidv7();
    const data = { ü: [1, 2.5, -0, 1e21, null, true, { b: 'x', a: '\u2028"' }], z: 'é', A: {} };
    await store.append(
      command([{ ...write(a, 0, { type: 'Odd', data, personal: { name: 'Ada' } }), subjectId: a }]),
    );
    const [row] = await database.source.query('SELECT * FROM events WHERE stream_id = $1', [a]);
    const recomputed = eventDigest(
      {
        organizationId: row.organization_id,
        streamType: row.stream_type,
        streamId: row.stream_id,
        version: row.version,
        eventId: row.event_id,
        type: row.type,
        schema: row.schema,
        data: row.data,
        personal: row.personal,
        subjectId: row.subject_id,
        metadata: row.metadata,
      },
      row.recorded_at,
    );
    expect(recomputed.equals(row.digest)).toBe(true);
  });
});

describe('append-only', () => {
  it.each([
    'UPDATE events SET type = type',
    'DELETE FROM events',
    'TRUNCATE events',
    'UPDATE events SET type = type WHERE false',
  ])('rejects %s', async (statement) => {
    await expect(database.source.query(statement)).rejects.toMatchObject({
      driverError: { code: '42501' },
    });
  });

  it('also denies the application the privilege to change events', async () => {
    const [rights] = await database.source.query(
      `SELECT has_table_privilege(current_user, 'events', 'UPDATE') AS update,
              has_table_privilege(current_user, 'events', 'DELETE') AS delete,
              has_table_privilege(current_user, 'events', 'TRUNCATE') AS truncate,
              (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS super`,
    );
    // A superuser has all privileges. Then only the trigger rejects, as tested above.
    expect(rights).toEqual(
      rights.super
        ? { update: true, delete: true, truncate: true, super: true }
        : { update: false, delete: false, truncate: false, super: false },
    );
  });
});

describe('readStreamsNow', () => {
  const eventsOf = (streams: Map<string, StreamNow<DomainEvent>>) =>
    new Map([...streams].map(([id, { events, isWhole }]) => [id, { events, isWhole }]));

  it('returns each stream like readStream, including personal data, and no unknown ones', async () => {
    const [a, person, unknown] = [uuidv7(), uuidv7(), uuidv7()];
    const named: DomainEvent = { type: 'Named', data: {}, personal: { name: 'Ada' } };
    await store.append(command([write(a, 0, happened)]));
    await store.append(command([{ ...write(person, 0, named), subjectId: person }]));
    const streams = await store.readStreamsNow(organizationId, [person, unknown, a]);
    expect(eventsOf(streams)).toEqual(
      new Map([
        [a, { events: await streamOf(a), isWhole: true }],
        [person, { events: await streamOf(person), isWhole: true }],
        [unknown, { events: [], isWhole: true }],
      ]),
    );
    expect(streams.get(person)!.events[0]!.personal).toEqual({ name: 'Ada' });
    const foreign = await store.readStreamsNow(uuidv7(), [a]);
    expect(eventsOf(foreign)).toEqual(new Map([[a, { events: [], isWhole: true }]]));
  });

  it('reports whether more events may follow', async () => {
    const [long, short] = [uuidv7(), uuidv7()];
    await store.append(command([write(long, 0, ...Array.from({ length: 20 }, () => happened))]));
    await store.append(command([write(short, 0, happened)]));
    const [one] = (await store.readStreamsNow(organizationId, [long])).values();
    expect([one!.events.length, one!.isWhole]).toEqual([16, false]);
    const many = await store.readStreamsNow(organizationId, [long, short]);
    expect([many.get(long)!.isWhole, many.get(short)!.isWhole]).toEqual([false, true]);
  });
});

describe('readStreamPages', () => {
  it('reads long streams and large events completely, in order, a few MiB at a time', async () => {
    const streamId = uuidv7();
    // This data compresses to a ninetieth, so its stored size says little about the size that is sent.
    const wide = (n: number): DomainEvent => ({
      type: 'Happened',
      data: { n, text: n % 3 === 0 ? 'x'.repeat(900_000) : 'x' },
    });
    for (let version = 0; version < 40; version += 10) {
      const events = Array.from({ length: 10 }, (_, n) => wide(version + n));
      await store.append(command([write(streamId, version, ...events)]));
    }
    for (let version = 40; version < 2_540; version += 500) {
      const events = Array.from({ length: 500 }, (_, n) => ({ type: 'Happened', data: { n: version + n } }));
      await store.append(command([write(streamId, version, ...events)]));
    }
    const versions: number[] = [];
    for await (const page of store.readStreamPages(organizationId, streamId, { after: 5, version: 2_500 })) {
      const bytes = page.reduce((sum, { data }) => sum + JSON.stringify(data).length, 0);
      expect(page.length).toBeLessThanOrEqual(1_000);
      expect(bytes).toBeLessThan(1024 * 1024 + 1_000_000);
      versions.push(...page.map(({ version }) => version));
    }
    expect(versions).toEqual(Array.from({ length: 2_495 }, (_, n) => n + 6));
  });
});

describe('plans', () => {
  it('appends and pages of projections scan no whole table, even with statistics from when it was nearly empty', async () => {
    const own = await createTestDatabase();
    try {
      const [person, other, thing] = [uuidv7(), uuidv7(), uuidv7()];
      const born = (id: string) => ({ ...write(id, 0), subjectId: id });
      await own.store.append(command([born(person), born(other), write(thing, 0)]));
      await own.source.query('ANALYZE');
      const readWhole = await own.source.transaction(async (sql) => {
        const scans = () =>
          sql.query<{ relname: string; seq_scan: string }[]>(
            'SELECT relname, seq_scan FROM pg_stat_xact_user_tables WHERE seq_scan > 0 ORDER BY relname',
          );
        const before = await scans();
        const commands = [0, 1].map((n) =>
          command([{ ...write(uuidv7(), 0), subjectId: person }], {
            guards: [{ streamId: thing, version: 1 }],
            claims: [{ key: key(`whole ${n}`), streamId: uuidv7() }],
            idempotency: { key: key(`again ${n}`), fingerprint: key('same'), result: {} },
          }),
        );
        const results = await appendBatch(sql, own.store.keyring, commands, {});
        expect(results).toMatchObject([{ status: 'appended' }, { status: 'appended' }]);
        await sql.query(`INSERT INTO checkpoints (projection, version) VALUES ('whole', 1)`);
        const page = await sql.query(
          `SELECT (event).position FROM advance_checkpoint('whole', 1, '{Happened}', 10, '1s', 'public')`,
        );
        expect(page).toHaveLength(3);
        return { before, after: await scans() };
      });
      expect(readWhole.after).toEqual(readWhole.before);
    } finally {
      await own.drop();
    }
  });

  it("an event's key is found by its subject, even in an organization without statistics", async () => {
    await database.source.query('ANALYZE events, subject_keys');
    const plan = await database.source.query(
      `EXPLAIN ${EVENTS_WITH_KEYS} WHERE e.organization_id = $1 AND e.stream_id = ANY ($2::uuid[])`,
      [uuidv7(), [uuidv7(), uuidv7()]],
    );
    expect(JSON.stringify(plan)).toMatch(/SubPlan/);
    expect(JSON.stringify(plan)).not.toMatch(/Join/);
  });

  it.each([
    ['the events of a request', OF_REQUEST, [uuidv7(), 'request', 0, 100], ['events_by_request']],
    [
      'people about whom others have written',
      TOUCHED,
      [uuidv7(), [uuidv7()], 'request'],
      ['events_organization_id_stream_id_version_key', 'events_about_others'],
    ],
  ])('finds %s by an index', async (_, text, values, indexes) => {
    const plan = await database.source.transaction(async (transaction) => {
      await transaction.query('SET LOCAL enable_seqscan = off');
      return transaction.query(`EXPLAIN ${text}`, values);
    });
    const used = JSON.stringify(plan);
    for (const index of indexes) expect(used).toContain(index);
    expect(used).not.toMatch(/Seq Scan on events|Sort/);
  });

  it('uses the primary key in the polling query', async () => {
    await database.source.query('ANALYZE events');
    const plan = await database.source.transaction(async (transaction) => {
      await transaction.query('SET LOCAL enable_seqscan = off');
      return transaction.query(`EXPLAIN ${READ_ALL}`, [0, 1_000, 100, null]);
    });
    expect(JSON.stringify(plan)).toMatch(/Index Scan using events_pkey/);
  });
});

it('reads no event at a position that the sequence never allocated', async () => {
  const own = await createTestDatabase();
  try {
    const streamId = uuidv7();
    await own.store.append(command([write(streamId, 0)]));
    const copy = (position: string, version: number) => {
      const eventId = uuidv7();
      return own.source
        .query(
          `INSERT INTO events SELECT $1, organization_id, stream_type, stream_id, $2, $3, type, schema, data, personal,
             subject_id, metadata, recorded_at, digest FROM events WHERE stream_id = $4 AND version = 1`,
          [position, version, eventId, streamId],
        )
        .then(() => eventId);
    };
    await expect(copy('0', 2)).rejects.toThrow('events_from_1');
    await own.source.query('ALTER TABLE events DROP CONSTRAINT events_from_1');
    const beyond = await copy('9007199254740993', 2);
    const below = await copy('-9223372036854775808', 3);

    for (const { store: reader } of [own, await own.another()]) {
      const versions = (events: { version: number }[]) => events.map(({ version }) => version);
      expect(versions(await reader.readStream(organizationId, streamId))).toEqual([1]);
      const now = (await reader.readStreamsNow(organizationId, [streamId])).get(streamId)!;
      expect(versions(now.events)).toEqual([1]);
      const until = { moment: new Date(Date.now() + 60_000) };
      expect(versions(await reader.readStream(organizationId, streamId, until))).toEqual([1]);
      expect(await reader.findEvent(organizationId, beyond)).toBeUndefined();
      expect(await reader.findEvent(organizationId, below)).toBeUndefined();
      expect(await reader.previousPosition(organizationId, 1)).toBe(0);
    }

    const other = uuidv7();
    await own.source.query(
      `INSERT INTO events SELECT -1, organization_id, stream_type, $1, 1, $1, type, schema, data, personal,
         subject_id, metadata, recorded_at, digest FROM events WHERE stream_id = $2 AND version = 1`,
      [other, streamId],
    );
    expect([...(await own.store.findStreams(organizationId, 'thing', [streamId, other]))]).toEqual([
      streamId,
    ]);
  } finally {
    await own.drop();
  }
});

it('deletes old idempotency keys in batches, and keeps the others', async () => {
  await database.source.query(
    `INSERT INTO idempotency_keys (organization_id, key, fingerprint, result, recorded_at)
     SELECT gen_random_uuid(), decode(md5(n::text), 'hex'), '\\x00', '{}',
       clock_timestamp() - CASE WHEN n <= 2500 THEN interval '25 hours' ELSE interval '23 hours' END
     FROM generate_series(1, 2600) n`,
  );
  expect(await database.store.forgetIdempotencyKeys(24)).toBe(2_500);
  expect(await database.store.forgetIdempotencyKeys(24)).toBe(0);
  const [{ count }] = await database.source.query(
    `SELECT count(*)::int FROM idempotency_keys WHERE fingerprint = '\\x00'`,
  );
  expect(count).toBe(100);
});
