import { Readable } from 'node:stream';
import { type EntityManager, type QueryRunner } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { type Sql, IncidentLog } from '#libs/database';
import { eventDigest, type EventRow, type EventStore } from '#libs/event-store';
import { ALL_ORGANIZATIONS, Checkpoints, REGISTER, Sealer, Signers, writeProof } from '#libs/sealing';
import { Commands } from '#libs/commands';
import { Projections } from '#libs/projections';
import { systemInput } from '#libs/rpc';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { type RegisterFiles, type Verdict } from '#libs/verify';
import { Positions1764000000012, PositionsValid1764000000012 } from '../../../migrations/0012-positions.js';
import { isLong, someOf } from '../../../test/length.js';
import { verifyTwice } from '../../../test/verifiers.js';
import { ExportEvents, ExportEventsHandler, HistoryReads, Register } from '../../history/index.js';
import { type AllVerdict } from './all.js';
import { verifyAll, verifyDatabase } from './verify.js';

const signers = new Signers([Buffer.alloc(32, 5)]);
const key = signers.verifierKey;
const metadata = { actor: { type: 'api-key', id: 'someone' }, requestId: 'test' } as const;
const NEWER = 3;
/** The events of one append. */
const AT_ONCE = 43;

let database: TestDatabase;
let sealer: Sealer;
let checkpoints: Checkpoints;
beforeAll(async () => {
  database = await createTestDatabase();
  sealer = new Sealer(database.source, signers, console);
  checkpoints = new Checkpoints(database.source, sealer);
});
afterAll(() => database.drop());

/** An organization's history and its checkpoint. */
type History = {
  organizationId: string;
  positions: number[];
  checkpoint: string;
  parts: string;
  personId: string;
};

/**
 * 344 events among those of another organization, in parts of 256, 64, 16 and 8. Some positions
 * between them are unused, and a few newer events follow the checkpoint.
 */
async function write(): Promise<History> {
  const [organizationId, personId] = [uuidv7(), uuidv7()];
  const { store } = database;
  const person = { streamType: 'person', streamId: personId, subjectId: personId };
  const named = { type: 'Named', data: { amount: 1e21, share: 0.1 }, personal: { name: 'Ada' } };
  await append(store, organizationId, [{ ...person, expectedVersion: 0, events: [named] }]);
  const happened = (version: number): Write => ({
    ...{ streamType: 'thing', streamId: uuidv7(), expectedVersion: 0, subjectId: personId },
    events: [
      version % 50 === 0
        ? { ...named, data: { version } }
        : { type: 'Happened', data: { version, text: 'The river “Spree”' } },
    ],
  });
  const versions = Array.from({ length: 343 }, (_, version) => version);
  for (let first = 0; first < versions.length; first += AT_ONCE) {
    await append(store, uuidv7(), [thing()]);
    await database.source.query(`SELECT nextval('events_position')`);
    await append(store, organizationId, versions.slice(first, first + AT_ONCE).map(happened));
    if (first + AT_ONCE !== 301) continue;
    await sealer.seal();
    // Checkpoints that were handed out stay in the table of seals.
    await checkpointOf(organizationId);
  }
  await append(store, uuidv7(), [thing()]);
  await sealer.seal();
  const { checkpoint, parts } = await checkpointOf(organizationId);
  for (let n = 0; n < NEWER; n += 1) await append(store, organizationId, [thing()]);
  const rows = await rowsOf(database.source, organizationId);
  const positions = rows.map(({ position }) => Number(position));
  return { organizationId, checkpoint, parts, personId, positions };
}

async function checkpointOf(organizationId: string): Promise<Pick<History, 'checkpoint' | 'parts'>> {
  const last = await checkpoints.last(organizationId);
  return { checkpoint: last.note, parts: await checkpoints.parts(last) };
}

type Write = Parameters<EventStore['append']>[0]['writes'][number];
const thing = (): Write => ({
  streamType: 'thing',
  streamId: uuidv7(),
  expectedVersion: 0,
  events: [{ type: 'Happened', data: {} }],
});

async function append(store: EventStore, organizationId: string, writes: Write[], erases: string[] = []) {
  expect(await store.append({ organizationId, metadata, writes, erases })).toMatchObject({
    status: 'appended',
  });
}

function rowsOf(sql: Sql, organizationId: string): Promise<EventRow[]> {
  return sql.query(
    `SELECT e.*, k.wrapped_key FROM events e LEFT JOIN subject_keys k USING (organization_id, subject_id)
     WHERE e.organization_id = $1 ORDER BY e.position`,
    [organizationId],
  );
}

/** The lines of an export, built from the rows as described in docs/spec/history-format.md, "Export". */
async function exportOf(sql: Sql, organizationId: string): Promise<string> {
  const rows = await rowsOf(sql, organizationId);
  const readable = rows.map((row) => database.store.rows.readStored([row])[0]!.personal ?? null);
  return rows
    .map((row, n) => ({
      position: Number(row.position),
      previousPosition: Number(rows[n - 1]?.position ?? 0),
      organizationId: row.organization_id,
      streamType: row.stream_type,
      streamId: row.stream_id,
      version: row.version,
      eventId: row.event_id,
      type: row.type,
      schema: row.schema,
      data: row.data,
      personal: readable[n],
      encryptedPersonal: row.personal?.toString('base64') ?? null,
      subjectId: row.subject_id,
      metadata: row.metadata,
      recordedAt: row.recorded_at.toISOString(),
      digest: row.digest.toString('hex'),
    }))
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
}

type Verdicts = { live: Verdict; exported: Verdict };

function liveVerdictOn(sql: Sql, { organizationId, checkpoint, parts }: History): Promise<Verdict> {
  return verifyDatabase(sql, organizationId, checkpoint, key, { parts });
}

async function verdictsOn(sql: Sql, history: History): Promise<Verdicts> {
  const exported = await exportOf(sql, history.organizationId);
  return {
    live: await liveVerdictOn(sql, history),
    exported: await verifyTwice(exported, history.checkpoint, key, history.parts),
  };
}

/** Without the trigger, as the database's owner can. */
async function tamper(sql: Sql, work: () => Promise<unknown>): Promise<void> {
  // Locks the table first. Otherwise this and autovacuum, which holds that lock, could wait for each other.
  await sql.query('ALTER TABLE events DISABLE TRIGGER events_are_append_only');
  await sql.query('GRANT UPDATE, DELETE ON events TO CURRENT_USER');
  await work();
  await sql.query('ALTER TABLE events ENABLE ALWAYS TRIGGER events_are_append_only');
}

/** The findings in a tampered history. The tampering is rolled back afterwards. */
async function whileTampered<Found>(
  work: (sql: Sql) => Promise<unknown>,
  find: (sql: Sql) => Promise<Found>,
): Promise<Found> {
  const runner: QueryRunner = database.source.createQueryRunner();
  await runner.startTransaction();
  await runner.query('SET LOCAL idle_in_transaction_session_timeout = 0');
  try {
    await tamper(runner.manager, () => work(runner.manager));
    return await find(runner.manager);
  } finally {
    await runner.rollbackTransaction();
    await runner.release();
  }
}

const tampered = (history: History, work: (sql: Sql) => Promise<unknown>) =>
  whileTampered(work, (sql) => verdictsOn(sql, history));
const tamperedLive = (history: History, work: (sql: Sql) => Promise<unknown>) =>
  whileTampered(work, (sql) => liveVerdictOn(sql, history));

const set = (assignment: string, position: number) => (sql: Sql) =>
  sql.query(`UPDATE events SET ${assignment} WHERE position = $1`, [position]);
const remove =
  (...positions: number[]) =>
  (sql: Sql) =>
    sql.query('DELETE FROM events WHERE position = ANY ($1)', [positions]);

/** Recomputes the digest of a changed row, as a forger who knows the format would. */
async function redigest(sql: Sql, position: number | string): Promise<void> {
  const [row] = await sql.query<EventRow[]>('SELECT * FROM events WHERE position = $1', [position]);
  const { organization_id, stream_type, stream_id, event_id, subject_id, recorded_at, ...same } = row!;
  const digest = eventDigest(
    {
      ...{
        version: same.version,
        type: same.type,
        schema: same.schema,
        data: same.data,
        personal: same.personal,
      },
      metadata: same.metadata,
      organizationId: organization_id,
      streamType: stream_type,
      streamId: stream_id,
      eventId: event_id,
      subjectId: subject_id,
    },
    recorded_at,
  );
  await sql.query('UPDATE events SET digest = $2 WHERE position = $1', [position, digest]);
}

/** A copy of an event at an unused position, with its own digest. */
async function putIn(sql: Sql, original: number, position: number | string): Promise<void> {
  await sql.query(
    `INSERT INTO events SELECT $2, organization_id, stream_type, $3, 1, $3, type, schema, data, NULL, NULL, metadata,
       recorded_at, digest FROM events WHERE position = $1`,
    [original, position, uuidv7()],
  );
  await redigest(sql, position);
}

const right: Partial<Verdict> = {
  ok: true,
  events: 347,
  provedEvents: 344,
  firstWrongPosition: null,
  reason: null,
};

describe('a stored history', () => {
  let history: History;
  let at: (index: number) => number;
  beforeAll(async () => {
    history = await write();
    at = (index) => history.positions[index]!;
  });

  it('is proved as it was appended, with newer events after it', async () => {
    expect(await verdictsOn(database.source, history)).toMatchObject({ live: right, exported: right });
  });

  it('is proved only by the checkpoint of its own organization', async () => {
    const other = uuidv7();
    expect(await verifyDatabase(database.source, other, history.checkpoint, key)).toMatchObject({
      ok: false,
      events: 0,
      provedEvents: 0,
      firstWrongPosition: null,
      reason: `The checkpoint belongs to organization ${history.organizationId}. Use the one of ${other}.`,
    });
    const forged = history.checkpoint.replace('\n344\n', '\n345\n');
    expect(await verifyDatabase(database.source, history.organizationId, forged, key)).toMatchObject({
      ok: false,
      firstWrongPosition: null,
    });
  });

  it.each([
    ['data', `data = data || '{"version": 1000}'`],
    ['type', `type = 'Other'`],
    ['schema', 'schema = 2'],
    ['stream_type', `stream_type = 'other'`],
    ['stream_id', 'stream_id = gen_random_uuid()'],
    ['version', 'version = 2'],
    ['event_id', 'event_id = gen_random_uuid()'],
    ['personal', 'personal = set_byte(personal, 40, 255 - get_byte(personal, 40))'],
    ['subject_id', 'subject_id = NULL'],
    ['metadata', `metadata = jsonb_set(metadata, '{actor,id}', '"somebody else"')`],
    ['recorded_at', `recorded_at = recorded_at + interval '1 millisecond'`],
    ['digest', `digest = sha256('')`],
  ])('names the event whose %s was changed', async (column, assignment) => {
    // Every fiftieth event contains personal data.
    const position = at(301);
    const wrong = { ok: false, events: 302, firstWrongPosition: position };
    // The tests of verifyFile change each field of an export.
    if (!isLong && column !== 'personal') {
      const live = await tamperedLive(history, set(assignment, position));
      expect(live).toMatchObject({ ...wrong, provedEvents: 301 });
      return;
    }
    const { live, exported } = await tampered(history, set(assignment, position));
    expect(live).toMatchObject({ ...wrong, provedEvents: 301 });
    expect(exported).toMatchObject({ ...wrong, provedEvents: 256 });
  });

  it('names an event without a time', async () => {
    const runner = database.source.createQueryRunner();
    await runner.startTransaction();
    await runner.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    await tamper(runner.manager, () => set(`recorded_at = 'infinity'`, at(8))(runner.manager));
    expect(
      await verifyDatabase(runner.manager, history.organizationId, history.checkpoint, key),
    ).toMatchObject({
      ok: false,
      firstWrongPosition: at(8),
    });
    await runner.rollbackTransaction();
    await runner.release();
  });

  /** The location of the leaves: exact in the database, by parts in the export. */
  async function expectPlaced(
    work: (sql: Sql) => Promise<unknown>,
    expected: { live: number; exported: number; proved?: number },
  ): Promise<Verdicts> {
    const verdicts = await tampered(history, work);
    expect([verdicts.live.ok, verdicts.exported.ok]).toEqual([false, false]);
    expect({
      live: verdicts.live.firstWrongPosition,
      exported: verdicts.exported.firstWrongPosition,
    }).toEqual({ live: expected.live, exported: expected.exported });
    return verdicts;
  }

  it('names an event that was changed together with its digest', async () => {
    for (const [index, part] of someOf(
      [
        [300, 256],
        [255, 0],
        [0, 0],
        [343, 336],
      ] as const,
      2,
    )) {
      await expectPlaced(
        async (sql) => {
          await set(`data = '{}', type = 'Other'`, at(index))(sql);
          await redigest(sql, at(index));
        },
        { live: at(index), exported: at(part) },
      );
    }
  });

  it('names the first of two events whose positions were swapped', async () => {
    await expectPlaced(
      async (sql) => {
        await set('position = 1000000000', at(300))(sql);
        await set(`position = ${at(300)}`, at(302))(sql);
        await set(`position = ${at(302)}`, 1_000_000_000)(sql);
      },
      { live: at(300), exported: at(256) },
    );
  });

  it('names an event that was deleted', async () => {
    const { live } = await expectPlaced(remove(at(300), at(301)), { live: at(300), exported: at(256) });
    expect(live.reason).toBe(`The event at position ${at(300)} is missing.`);
    if (isLong) {
      await expectPlaced(remove(at(0)), { live: at(0), exported: at(0) });
      await expectPlaced(remove(at(294)), { live: at(294), exported: at(256) });
    }
    // The export's last part has too few events, and its newest one is below the checkpoint's position.
    await expectPlaced(remove(at(339)), { live: at(339), exported: at(343) + 1 });
  });

  it('names the first of the newest events that were deleted', async () => {
    const newest = [341, 342, 343, 344, 345, 346].map(at);
    const { live, exported } = await expectPlaced(remove(...newest), {
      live: at(341),
      exported: at(340) + 1,
    });
    for (const { reason } of [live, exported]) expect(reason).toMatch(/^3 of the 344 events/);
    // Also if newer events exist.
    await expectPlaced(remove(...newest.slice(0, 3)), { live: at(341), exported: at(340) + 1 });
  });

  it('names an event that was moved to another organization', async () => {
    await expectPlaced(set('organization_id = gen_random_uuid()', at(300)), {
      live: at(300),
      exported: at(256),
    });
  });

  it('names the first of several differences', async () => {
    await expectPlaced(
      async (sql) => {
        await set('schema = 2', at(301))(sql);
        await remove(at(300))(sql);
      },
      { live: at(300), exported: at(301) },
    );
    await expectPlaced(
      async (sql) => {
        await set('schema = 2', at(310))(sql);
        await set('schema = 2', at(300))(sql);
        await redigest(sql, at(300));
      },
      { live: at(300), exported: at(310) },
    );
  });

  it('names an inserted event', async () => {
    const taken: { position: string }[] = await database.source.query('SELECT position FROM events');
    const isTaken = new Set(taken.map(({ position }) => Number(position)));
    const free = (from: number) => {
      let position = from;
      while (isTaken.has(position)) position += 1;
      return position;
    };
    const between = free(at(300));
    await expectPlaced((sql) => putIn(sql, at(20), between), { live: between, exported: at(256) });
  });

  it('names an event at a position that was never allocated', async () => {
    await expect(putIn(database.source, at(20), -5)).rejects.toThrow('events_from_1');
    for (const [position, reason] of [
      ['-9223372036854775808', 'positions start at 1'],
      ['0', 'positions start at 1'],
      ['1000000000', 'the last position ever allocated is'],
      ['9223372036854775807', 'the last position ever allocated is'],
    ] as const) {
      const live = await tamperedLive(history, async (sql) => {
        await sql.query('ALTER TABLE events DROP CONSTRAINT events_from_1');
        await putIn(sql, at(20), position);
      });
      expect(live).toMatchObject({ ok: false, firstWrongPosition: Number(position) });
      expect(live.provedEvents).toBe(Number(position) > 0 ? 344 : 0);
      expect(live.reason).toContain(`The event at position ${position} was inserted`);
      expect(live.reason).toContain(reason);
    }
  });

  it('is upgraded despite an event at such a position, which verification names', async () => {
    const live = await tamperedLive(history, async (sql) => {
      await sql.query('ALTER TABLE events DROP CONSTRAINT events_from_1');
      await putIn(sql, at(20), -1);
      for (const migration of [new Positions1764000000012(), new PositionsValid1764000000012()]) {
        await migration.up((sql as EntityManager).queryRunner!);
      }
      await expect(
        sql.query(`SELECT convalidated AS valid FROM pg_constraint WHERE conname = 'events_from_1'`),
      ).resolves.toEqual([{ valid: false }]);
    });
    expect(live).toMatchObject({ ok: false, firstWrongPosition: -1 });
  });

  it('names an event inserted between the last one and the checkpoint’s position', async () => {
    const position = at(343) + 1;
    const { live, exported } = await expectPlaced(
      async (sql) => {
        await remove(position)(sql);
        await putIn(sql, at(20), position);
      },
      { live: position, exported: position },
    );
    expect([live.provedEvents, exported.provedEvents]).toEqual([344, 344]);
  });

  it('reports problems of the seals if every event is intact', async () => {
    const { organizationId } = history;
    const flip = (column: string, byte: number) =>
      `${column} = set_byte(${column}, ${byte}, 255 - get_byte(${column}, ${byte}))`;
    const gap = history.positions.findIndex((position, n) => at(n + 1) - position > 1);
    for (const [statement, reason] of [
      [
        `UPDATE seal_tiles SET ${flip('hashes', 40)} WHERE level = 0 AND index = 1`,
        'seal_tiles has a different root',
      ],
      [`UPDATE seal_tiles SET ${flip('hashes', 8)} WHERE level = 1`, 'hash 0 of level 1 in seal_tiles'],
      [
        `UPDATE seal_tiles SET positions[${gap + 1}] = positions[${gap + 1}] + 1 WHERE level = 0 AND index = 0`,
        'seal_tiles has position',
      ],
      [
        'UPDATE seal_tiles SET positions[3] = 1 WHERE level = 0 AND index = 1',
        'positions in seal_tiles go back',
      ],
      ['DELETE FROM seal_tiles WHERE level = 0 AND index = 1', 'seal_tiles contains 256 of 344 leaves'],
      [`UPDATE seals SET root = sha256('') WHERE size = 344`, 'seals for 344 events is wrong'],
      ['DELETE FROM seals WHERE size = 344', 'seals has no row for 344 events or more'],
      [`UPDATE seals SET root = sha256('') WHERE size < 344`, 'seals for 302 events is wrong'],
      [`UPDATE seals SET position = ${at(301)} - 1 WHERE size < 344`, 'seals for 302 events is wrong'],
      [`UPDATE seals SET position = ${at(302)} WHERE size < 344`, 'the seal before 303 events claims'],
      [`UPDATE seals SET size = 301 WHERE size < 344`, 'seals for 301 events is wrong'],
      [
        'UPDATE seals SET size = 348 WHERE size < 344',
        'seals has a row for 348 events, but the history has 347',
      ],
      [`UPDATE seals SET size = 346, root = sha256('') WHERE size < 344`, 'seals for 346 events is wrong'],
    ] as const) {
      const where = statement.includes('WHERE') ? 'AND' : 'WHERE';
      const live = await tamperedLive(history, (sql) =>
        sql.query(`${statement} ${where} organization_id = $1`, [organizationId]),
      );
      expect(live).toMatchObject({ ok: false, events: 347, provedEvents: 344, firstWrongPosition: null });
      expect(live.reason).toContain(reason);
    }
    // They are thinned out, and exports do not contain them.
    const thinned = await tampered(history, (sql) =>
      sql.query('DELETE FROM seals WHERE organization_id = $1 AND size < 344', [organizationId]),
    );
    expect(thinned).toMatchObject({ live: right, exported: right });
  });

  it('names the first event whose data cannot be read although no one was erased', async () => {
    const { organizationId } = history;
    const destroyed = await tampered(history, (sql) =>
      sql.query('DELETE FROM subject_keys WHERE organization_id = $1', [organizationId]),
    );
    for (const verdict of [destroyed.live, destroyed.exported]) {
      expect(verdict).toMatchObject({
        ...{ ok: false, events: 347, provedEvents: 344, firstWrongPosition: at(0) },
        reason: expect.stringContaining('cannot be read, although no event erased it'),
      });
    }
    // Only the server can check that a key decrypts its data, which it does when it exports.
    const changed = await tampered(history, (sql) =>
      sql.query(`UPDATE subject_keys SET wrapped_key = sha256('') WHERE organization_id = $1`, [
        organizationId,
      ]),
    );
    expect(changed).toMatchObject({ live: right, exported: { ok: false, firstWrongPosition: at(0) } });
  });

  it('names an event without its predecessor in the stream, and reports where times go back', async () => {
    const newest = at(346);
    const gap = await tampered(history, async (sql) => {
      await set('version = 2', newest)(sql);
      await redigest(sql, newest);
    });
    for (const verdict of [gap.live, gap.exported]) {
      expect(verdict).toMatchObject({
        ...{ ok: false, events: 347, provedEvents: 344, newerEvents: 3, firstWrongPosition: newest },
        reason: `The event at position ${newest} has version 2, although it is the first of its stream.`,
      });
    }
    const back = await tampered(history, async (sql) => {
      const stream = `stream_id = (SELECT stream_id FROM events WHERE position = ${at(345)})`;
      await set(`${stream}, version = 2, recorded_at = recorded_at - interval '1 day'`, newest)(sql);
      await redigest(sql, newest);
    });
    const reason = `The event at position ${newest} was recorded before version 1 of its stream.`;
    const told = { ...right, warningCount: 1, warnings: [{ position: newest, reason }] };
    expect(back).toMatchObject({ live: told, exported: told });
  });

  it('has its difference located by the checkpoint’s parts if seal_tiles was also changed', async () => {
    const { live } = await expectPlaced(
      async (sql) => {
        await set('schema = 2', at(300))(sql);
        await redigest(sql, at(300));
        await sql.query('DELETE FROM seal_tiles WHERE organization_id = $1', [history.organizationId]);
      },
      { live: at(256), exported: at(256) },
    );
    expect(live.reason).toContain(`between positions ${at(256)} and ${at(319)}`);
    expect(live.reason).toContain('seals are wrong too: the table seal_tiles contains 0 of 344 leaves');
  });
});

it('is proved for a person erased since, whose events are named if they are changed', async () => {
  const history = await write();
  const { organizationId, personId } = history;
  const erased = { streamType: 'person', streamId: personId, subjectId: personId, expectedVersion: 1 };
  const before = await exportOf(database.source, organizationId);
  expect(before).toContain('"Ada"');
  const events = [{ type: 'ContactErased', data: {} }];
  const keys: { wrapped_key: Buffer }[] = await database.source.query(
    'SELECT wrapped_key FROM subject_keys WHERE organization_id = $1 AND subject_id = $2',
    [organizationId, personId],
  );
  await append(database.store, organizationId, [{ ...erased, events }], [personId]);
  expect(await exportOf(database.source, organizationId)).not.toContain('"Ada"');
  const after = { ...right, events: 348 };
  expect(await verdictsOn(database.source, history)).toMatchObject({ live: after, exported: after });

  // For example, one table was restored from a backup.
  const revived = await tampered(history, (sql) =>
    sql.query('INSERT INTO subject_keys VALUES ($1, $2, $3)', [
      organizationId,
      personId,
      keys[0]!.wrapped_key,
    ]),
  );
  expect(revived.live).toMatchObject({
    ...{ ok: false, firstWrongPosition: null },
    reason: expect.stringContaining(`the encryption key of ${personId} is back`),
  });

  const gone = await tampered(history, set('personal = NULL', history.positions[0]!));
  expect([gone.live.firstWrongPosition, gone.exported.firstWrongPosition]).toEqual([
    history.positions[0],
    history.positions[0],
  ]);

  await sealer.seal();
  const ahead = await tampered(history, (sql) =>
    sql.query('UPDATE seals SET position = position + 1000000 WHERE organization_id = $1 AND size = 348', [
      organizationId,
    ]),
  );
  expect(ahead.live).toMatchObject({ ok: false, provedEvents: 344, firstWrongPosition: null });
  expect(ahead.live.reason).toContain('the last position ever allocated is');
});

it('is rejected if it was rewritten and sealed again', async () => {
  const history = await write();
  const { organizationId, positions } = history;
  const { source } = database;
  await tamper(source, async () => {
    await set('schema = 2', positions[300]!)(source);
    await redigest(source, positions[300]!);
  });
  await source.query('DELETE FROM seal_tiles');
  await source.query('DELETE FROM seals');
  await source.query('DELETE FROM signed_notes');
  await source.query('UPDATE sealing SET position = 0');
  await sealer.seal();

  const { live, exported } = await verdictsOn(source, history);
  expect(live).toMatchObject({ ok: false, provedEvents: 256, firstWrongPosition: positions[256] });
  expect(live.reason).toContain('seal_tiles has a different root');
  expect(exported).toMatchObject({ ok: false, provedEvents: 256, firstWrongPosition: positions[256] });
  // The new history is consistent in itself: only an earlier checkpoint reveals the change.
  const renewed = await checkpointOf(organizationId);
  expect(await verdictsOn(source, { ...history, ...renewed })).toMatchObject({
    live: { ok: true, provedEvents: 347 },
    exported: { ok: true, provedEvents: 347 },
  });
});

it('is proved by exports from before, during and after an erasure', async () => {
  const { source, store } = database;
  const logger = { log: () => undefined, warn: () => undefined, error: () => undefined };
  const commands = new Commands(store, new Projections(source, store, [], logger));
  const reads = new HistoryReads(commands, store, source, new IncidentLog(logger));
  const handler = new ExportEventsHandler(store, reads);
  const [organizationId, personId] = [uuidv7(), uuidv7()];
  const person = { streamType: 'person', streamId: personId, subjectId: personId };
  const named = { type: 'Named', data: { 10: 1, 9: 2, name: 3 }, personal: { name: 'Ada', 10: 1, 9: 2 } };
  await append(store, organizationId, [{ ...person, expectedVersion: 0, events: [named] }]);
  // Larger than a page, so that the rest is read after the erasure.
  const wide = { type: 'Happened', data: { text: 'x'.repeat(600_000) } };
  for (let n = 0; n < 3; n += 1) await append(store, organizationId, [{ ...thing(), events: [wide] }]);
  await append(store, organizationId, [{ ...thing(), events: [named], subjectId: personId }]);
  await sealer.seal();
  const { checkpoint } = await checkpointOf(organizationId);

  const exportWhile = async (happens: () => Promise<void>) => {
    const query = systemInput(ExportEvents, organizationId, { after: 0 }, 'test');
    const { chunks } = await handler.execute(query);
    let [text, isFirst] = ['', true];
    for await (const chunk of chunks) {
      text += chunk.toString();
      if (isFirst) await happens();
      isFirst = false;
    }
    return text;
  };
  const erase = () => {
    const erased = { ...person, expectedVersion: 1, events: [{ type: 'ContactErased', data: {} }] };
    return append(store, organizationId, [thing()])
      .then(() => append(store, organizationId, [erased], [personId]))
      .then(() => append(store, organizationId, [thing()]));
  };
  const before = await exportWhile(() => Promise.resolve());
  // In canonical form, including names that are numbers.
  const readable =
    /"data":\{"10":1,"9":2,"name":3\},"personal":\{"\$salt":"[^"]+","10":1,"9":2,"name":"Ada"\}/;
  expect(before).toMatch(readable);
  expect(before).toMatch(
    /"metadata":\{"actor":\{"id":"someone","type":"api-key"\},"personalDigest":"[0-9a-f]{64}","requestId":"test"\}/,
  );
  const during = await exportWhile(erase);
  expect(during).toMatch(readable);
  expect(during.trimEnd().split('\n').at(-1)).toContain('"type":"ContactErased"');
  const after = await exportWhile(() => Promise.resolve());
  expect(after).not.toContain('"Ada"');
  for (const exported of someOf([during, before, after])) {
    expect(await verifyTwice(exported, checkpoint, key)).toMatchObject({ ok: true, provedEvents: 5 });
  }
});

describe('the log of all organizations', () => {
  let own: TestDatabase;
  let ownSealer: Sealer;
  let ownCheckpoints: Checkpoints;
  const organizationIds = Array.from({ length: 6 }, () => uuidv7()).sort();
  const victim = organizationIds[2]!;
  /** An auditor's files: the checkpoint of the log, and the organizations file next to it. */
  let kept: { checkpoint: string; organizations: string };
  beforeAll(async () => {
    own = await createTestDatabase();
    ownSealer = new Sealer(own.source, signers, console);
    ownCheckpoints = new Checkpoints(own.source, ownSealer);
    const grow = async () => {
      for (const [n, organizationId] of organizationIds.entries()) {
        for (let more = 0; more <= n; more += 1) await append(own.store, organizationId, [thing()]);
      }
      await ownSealer.seal();
      await ownSealer.logAll();
    };
    for (let round = 0; round < 3; round += 1) await grow();
    const last = await ownCheckpoints.last(ALL_ORGANIZATIONS);
    kept = { checkpoint: last.note, organizations: await ownCheckpoints.organizations(last) };
    // Newer events do not contradict it.
    await grow();
  });
  afterAll(() => own.drop());

  const verdictOn = (sql: Sql, organizations?: string): Promise<AllVerdict> =>
    verifyAll(sql, kept.checkpoint, key, { organizations });

  /** The findings with only the log's leaves, and with the organizations file. The change is rolled back afterwards. */
  async function found(
    work: (sql: Sql) => Promise<unknown>,
  ): Promise<{ alone: AllVerdict; beside: AllVerdict }> {
    const runner = own.source.createQueryRunner();
    await runner.startTransaction();
    await runner.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    try {
      await tamper(runner.manager, () => work(runner.manager));
      return {
        alone: await verdictOn(runner.manager),
        beside: await verdictOn(runner.manager, kept.organizations),
      };
    } finally {
      await runner.rollbackTransaction();
      await runner.release();
    }
  }
  const deleted = (tables: string[]) => async (sql: Sql) => {
    for (const table of tables) await sql.query(`DELETE FROM ${table} WHERE organization_id = $1`, [victim]);
  };
  const TABLES = ['events', 'seals', 'seal_tiles', 'signed_notes'];
  const sizeOf = async (sql: Sql) => {
    const [row] = await sql.query<{ size: string }[]>(
      'SELECT max(size) AS size FROM seals WHERE organization_id = $1',
      [victim],
    );
    return Number(row!.size);
  };

  it('is verified with the history of each organization, and with newer events after it', async () => {
    expect(await verdictOn(own.source, kept.organizations)).toMatchObject({
      ...{ ok: true, leaves: 18, organizations: 6, reason: null, wrong: [], wrongCount: 0 },
      checkpoint: { organizationId: 'all', size: 18, position: 18 },
    });
    const { note } = await ownCheckpoints.last(victim);
    expect(await verifyAll(own.source, note, key)).toMatchObject({
      ok: false,
      reason: `The checkpoint belongs to organization ${victim}, not to the log of all organizations.`,
    });
    const forged = kept.checkpoint.replace('\n18\n', '\n17\n');
    expect(await verifyAll(own.source, forged, key)).toMatchObject({ ok: false, checkpoint: null });
  });

  it('reveals which organization was deleted', async () => {
    const { alone, beside } = await found(deleted(TABLES));
    const wrong = [
      { organizationId: victim, reason: 'It is missing, but the log has a checkpoint of its 9 events.' },
    ];
    expect(alone).toMatchObject({ ok: false, reason: null, wrong, wrongCount: 1 });
    expect(beside).toEqual(alone);
    const sealsAlone = await found(deleted(['seals']));
    const reason =
      'It has no seals, but the log has a checkpoint of 9 events. Its rows in the table seals were deleted.';
    expect(sealsAlone.alone.wrong).toEqual([{ organizationId: victim, reason }]);
  });

  it('reveals a deleted organization without leaves in the log, by the organizations file', async () => {
    const { alone, beside } = await found(async (sql) => {
      await deleted([...TABLES, 'checkpoint_leaves'])(sql);
      await sql.query('UPDATE checkpoint_leaves SET position = -position');
      await sql.query(
        `UPDATE checkpoint_leaves l SET position = n.position FROM (
           SELECT organization_id, size, row_number() OVER (ORDER BY position DESC) AS position FROM checkpoint_leaves
         ) n WHERE (l.organization_id, l.size) = (n.organization_id, n.size)`,
      );
      // The log as if the deleted organization had never existed.
      for (const table of ['seals', 'seal_tiles', 'signed_notes']) {
        await sql.query(`DELETE FROM ${table} WHERE organization_id = $1`, [ALL_ORGANIZATIONS]);
      }
    });
    expect(alone).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/^The log differs from what was signed/),
      wrong: [],
    });
    expect(beside).toMatchObject({
      reason: alone.reason,
      wrong: [
        { organizationId: victim, reason: 'It is missing, but the log has a checkpoint of its 9 events.' },
      ],
    });
  });

  it('reveals which organization was rolled back to an earlier state', async () => {
    const rollBack = async (sql: Sql) => {
      const before = (await sizeOf(sql)) - 6;
      await sql.query(
        `DELETE FROM events WHERE organization_id = $1 AND position > (
           SELECT position FROM events WHERE organization_id = $1 ORDER BY position OFFSET $2 LIMIT 1)`,
        [victim, before - 1],
      );
      await sql.query('DELETE FROM seals WHERE organization_id = $1 AND size > $2', [victim, before]);
    };
    const { alone } = await found(rollBack);
    expect(alone.wrong).toEqual([
      { organizationId: victim, reason: 'It has 6 events, but the log has a checkpoint of 9 events.' },
    ]);
    const seals = await found((sql) =>
      sql.query('UPDATE seals SET size = 6 WHERE organization_id = $1', [victim]),
    );
    expect(seals.alone.wrong[0]!.reason).toMatch(/^Its seals end at .* It was rolled back/);
  });

  it('reveals which organization has a rewritten history, no matter who rewrote it', async () => {
    const { alone } = await found(async (sql) => {
      const [row] = await sql.query<{ position: string }[]>(
        'SELECT min(position) AS position FROM events WHERE organization_id = $1',
        [victim],
      );
      await sql.query(`UPDATE events SET data = '{"other": 1}' WHERE position = $1`, [row!.position]);
      await redigest(sql, row!.position);
    });
    expect(alone).toMatchObject({
      ok: false,
      wrong: [{ organizationId: victim, reason: expect.stringMatching(/^Its first 3 events do not match/) }],
    });
  });

  it.each<[string, string, RegExp]>([
    [
      'a different root',
      'UPDATE checkpoint_leaves SET root = sha256(root) WHERE position = 7',
      /^Leaf 7 of the log differs/,
    ],
    [
      'another size',
      'UPDATE checkpoint_leaves SET size = size + 100 WHERE position = 18',
      /^Leaf 18 of the log differs/,
    ],
    [
      'a leaf gone',
      'DELETE FROM checkpoint_leaves WHERE position = 4',
      /^Leaf 4 of 18 in the log is missing/,
    ],
    ['its last one gone', 'DELETE FROM checkpoint_leaves WHERE position >= 18', /^Leaf 18 of 18/],
    [
      'a tile changed',
      `UPDATE seal_tiles SET hashes = sha256(hashes) WHERE organization_id = '${ALL_ORGANIZATIONS}'`,
      /own tables are wrong: the table seal_tiles contains/,
    ],
  ])('is reported as wrong itself with %s', async (_, change, reason) => {
    const { alone } = await found((sql) => sql.query(change));
    expect(alone).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
  });

  it('proves that it contains an export, with only the export’s checkpoint', async () => {
    const { checkpoint, inAll } = await ownCheckpoints.lastInAll(victim);
    const exported = await exportOf(own.source, victim);
    const proof = writeProof(inAll!);
    const { sealedAt, size } = inAll!.checkpoint;
    const verdict = await verifyTwice(exported, checkpoint.note, key, undefined, proof);
    expect(verdict).toMatchObject({
      ok: true,
      checkpoint: { inAll: { index: inAll!.index, size, sealedAt: sealedAt.toISOString() } },
    });
    // Also with the key of this organization, which is the same.
    const ownKey = signers.verifierKeyOf(victim);
    expect(await verifyTwice(exported, checkpoint.note, ownKey, undefined, proof)).toMatchObject({
      ok: true,
    });
    const others = (await ownCheckpoints.lastInAll(organizationIds[0]!)).inAll!;
    const stranger = new Signers([Buffer.alloc(32, 6)]);
    for (const wrong of [
      '',
      proof.replace('@v1', '@v2'),
      proof.replace(`index ${inAll!.index}`, `index ${inAll!.index - 1}`),
      proof.replace(`index ${inAll!.index}\n`, `index ${inAll!.index}\n${'A'.repeat(43)}=\n`),
      proof.replace(/\n.{44}\n\n/, '\n\n'),
      writeProof(others),
      writeProof({ ...inAll!, checkpoint }),
      writeProof({
        ...inAll!,
        checkpoint: { ...inAll!.checkpoint, note: stranger.signCheckpoint(inAll!.checkpoint) },
      }),
    ]) {
      expect(await verifyTwice(exported, checkpoint.note, key, undefined, wrong)).toMatchObject({
        ok: false,
        events: 0,
        checkpoint: null,
      });
    }
  });

  describe('with a register', () => {
    const registerNote = () => ownCheckpoints.last(REGISTER).then(({ note }) => note);
    const register = () => new Register(own.store, own.source, new IncidentLog(console)).run();
    /** The register that a reader downloads now. */
    const download = async (): Promise<RegisterFiles> => {
      await ownSealer.seal();
      const text = Buffer.from(await exportOf(own.source, REGISTER));
      return { chunks: () => Readable.from([text]), checkpoint: await registerNote() };
    };
    const entriesOf = async ({ chunks }: RegisterFiles) =>
      Buffer.concat(await Readable.from(chunks()).toArray())
        .toString()
        .match(/"previous":/g)!.length;
    /** What a reader kept of the victim before anything was tampered with. */
    let honest: { exported: string; note: string };
    const judge = async (exported: string, note: string, register?: RegisterFiles) =>
      verifyTwice(exported, note, key, undefined, undefined, register ?? (await download()));
    beforeAll(async () => {
      honest = {
        exported: await exportOf(own.source, victim),
        note: (await ownCheckpoints.last(victim)).note,
      };
    });

    it('registers the last checkpoint of each organization once, however often it runs', async () => {
      await Promise.all([register(), register()]);
      await register();
      expect(await entriesOf(await download())).toBe(organizationIds.length);
      expect(await judge(honest.exported, honest.note)).toMatchObject({
        ok: true,
        checkpoint: { register: { events: 1, upTo: honest.exported.trimEnd().split('\n').length } },
      });
    });

    it('continues the chain, and does not cover a checkpoint before it is registered', async () => {
      await append(own.store, victim, [thing()]);
      await ownSealer.seal();
      await ownSealer.logAll();
      const [exported, { note, size }] = [
        await exportOf(own.source, victim),
        await ownCheckpoints.last(victim),
      ];
      expect(await judge(exported, note)).toMatchObject({
        ok: false,
        firstWrongPosition: null,
        reason: expect.stringContaining(`contains the first ${size - 1} of ${size} events`),
      });
      await register();
      expect(await judge(exported, note)).toMatchObject({
        ok: true,
        checkpoint: { register: { upTo: size } },
      });
      // The older checkpoint with its older export, which the new entry exceeds.
      expect(await judge(honest.exported, honest.note)).toMatchObject({ ok: true });
      expect(await entriesOf(await download())).toBe(organizationIds.length + 1);
    });

    it('reveals a checkpoint of another history of the organization', async () => {
      await append(own.store, victim, [thing(), thing()]);
      await ownSealer.seal();
      const [exported, { note, size }] = [
        await exportOf(own.source, victim),
        await ownCheckpoints.last(victim),
      ];
      await own.source.query(
        `INSERT INTO checkpoint_leaves SELECT max(position) + 1, $1, $2, sha256('another') FROM checkpoint_leaves`,
        [victim, size - 1],
      );
      await register();
      expect(await judge(exported, note)).toMatchObject({
        ok: false,
        reason: expect.stringContaining(`another history of the first ${size - 1} events`),
      });
    });

    it('is rejected if it was changed, has a malformed entry, or two entries after the same one', async () => {
      const { exported, note } = honest;
      const rejected = (reason: string) => ({
        ...{ ok: false, events: 0, code: 'register', checkpoint: null },
        reason: expect.stringContaining(reason),
      });
      const { chunks, checkpoint } = await download();
      const text = Buffer.concat(await Readable.from(chunks()).toArray()).toString();
      const changed = Buffer.from(text.replace('"root":"', '"root":"x'));
      const files = { chunks: () => Readable.from([changed]), checkpoint };
      expect(await judge(exported, note, files)).toMatchObject(rejected('does not match its checkpoint'));
      expect(await judge(exported, note, { chunks, checkpoint: note })).toMatchObject(
        rejected(`belongs to organization ${victim}`),
      );
      const hashes = { previous: 'a'.repeat(64), size: 'b'.repeat(64), root: 'c'.repeat(64) };
      const write = async (...checkpoints: object[]) => {
        const event = { type: 'CheckpointsRegistered', data: { checkpoints, upTo: 1e6 } };
        await append(own.store, REGISTER, [{ ...thing(), events: [event as never] }]);
      };
      await write(hashes);
      expect(await judge(exported, note)).toMatchObject({ ok: true });
      await write({ ...hashes, size: 'd'.repeat(64) });
      expect(await judge(exported, note)).toMatchObject(
        rejected('registered two histories of one organization'),
      );
    });
  });
});
