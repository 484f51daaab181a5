import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { createTestDatabase, eventually, type TestDatabase } from '#libs/testing';
import { isLong, longIt } from '../../test/length.js';
import { type Projection, Projections, type ProjectionsOptions } from './index.js';
import { Rebuild } from './rebuild.js';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
const open: Projections[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((projections) => projections.stop()));
  await database.drop();
});

const organizationId = uuidv7();
const metadata = { actor: { type: 'system', id: null }, requestId: 'test' } as const;
const silent = { log: jest.fn(), warn: jest.fn(), error: jest.fn() };
const SHORT = { heartbeatMs: 20, graceMs: 1_500 };

/** Names of people. Version 2 knows how to erase people from version 1. */
function people(version: number): Projection {
  return {
    name: 'people',
    version,
    erasure: {
      event: 'Erased',
      inPlain: true,
      earlier:
        version === 1
          ? {}
          : {
              1: 'DELETE FROM people p USING unnest($1::uuid[], $2::uuid[]) AS e(org, id) WHERE p.id = e.id',
            },
    },
    handles: ['Named', 'Erased'],
    tables: 'CREATE TABLE people (id uuid PRIMARY KEY, name text)',
    async apply(events, transaction) {
      for (const { type, streamId, personal } of events) {
        if (type === 'Erased') await transaction.query('DELETE FROM people WHERE id = $1', [streamId]);
        else
          await transaction.query('INSERT INTO people VALUES ($1, $2)', [streamId, personal?.name ?? null]);
      }
    },
  };
}

async function instance(version: number, options: ProjectionsOptions = {}): Promise<Projections> {
  const { source, store } = await database.another();
  const projections = new Projections(source, store, [people(version)], silent, options);
  open.push(projections);
  await projections.start();
  return projections;
}

/** Like version 0.1.0: its checkpoint follows the log, but it does not announce itself. */
async function earlierInstance(version: number, { polls = true } = {}): Promise<Projections> {
  const projections = await instance(version);
  if (polls) projections.poll();
  await database.source.query('DELETE FROM serving WHERE version = $1', [version]);
  await database.source.query(
    `CREATE RULE silent AS ON INSERT TO serving WHERE new.version = ${version} DO INSTEAD NOTHING`,
  );
  await database.source.query('DELETE FROM serving WHERE version = $1', [version]);
  return projections;
}

async function named(name: string): Promise<string> {
  const id = uuidv7();
  await append(id, 0, { type: 'Named', data: {}, personal: { name } });
  return id;
}
async function append(
  id: string,
  expectedVersion: number,
  event: object,
  erases: string[] = [],
): Promise<number> {
  const write = {
    streamType: 'person',
    streamId: id,
    expectedVersion,
    events: [event as never],
    subjectId: id,
  };
  const result = await database.store.append({ organizationId, metadata, writes: [write], erases });
  if (result.status !== 'appended') throw new Error(result.status);
  return result.position!;
}
const erase = (id: string) => append(id, 1, { type: 'Erased', data: {} }, [id]);

const rows = (version: number): Promise<{ id: string; name: string | null }[]> =>
  database.source.query(`SELECT * FROM people_v${version}.people ORDER BY id`);
async function schemas(): Promise<string[]> {
  const found: { nspname: string }[] = await database.source.query(
    "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'people%' ORDER BY 1",
  );
  return found.map(({ nspname }) => nspname);
}
/** Appends events until the work is done, so that every checkpoint moves. */
async function whileTheLogGrows<Result>(work: () => Promise<Result>): Promise<Result> {
  let working = true;
  const growing = (async () => {
    while (working) {
      await named('Ada');
      await sleep(20);
    }
  })();
  try {
    return await work();
  } finally {
    working = false;
    await growing;
  }
}

it('reads the horizon once, regardless of the number of projections', async () => {
  const projections = await instance(1);
  await instance(2);
  await database.source.query(`
    ALTER FUNCTION event_horizon() RENAME TO the_horizon;
    CREATE SEQUENCE looks;
    CREATE FUNCTION event_horizon() RETURNS bigint LANGUAGE sql AS $$ SELECT nextval('looks'); SELECT the_horizon() $$`);
  expect(await projections.status()).toEqual([
    expect.objectContaining({ name: 'people', version: 1, lag: 0 }),
  ]);
  expect(await database.source.query('SELECT last_value FROM looks')).toEqual([{ last_value: '1' }]);
});

longIt(
  'immediately shows writes of an instance of another version, only while that instance serves',
  async () => {
    const often = { heartbeatMs: 20 };
    const [older, newer] = [await instance(1, often), await instance(2, often)];
    for (const projections of [older, newer]) projections.poll();
    await eventually(() => expect(older.hasMixedVersions && newer.hasMixedVersions).toBe(true));
    const shown = async (version: number, id: string) => {
      const rows = await database.source.query(`SELECT FROM people_v${version}.people WHERE id = $1`, [id]);
      return rows.length;
    };
    for (let n = 0; n < (isLong ? 20 : 6); n += 1) {
      const [writer, reader, version] = n % 2 ? [older, newer, 2] : [newer, older, 1];
      const id = uuidv7();
      const position = await append(id, 0, { type: 'Named', data: {}, personal: { name: 'Ada' } });
      await writer.catchUp(position);
      await reader.catchUpWithOthers();
      expect(await shown(version, id)).toBe(1);
    }
    await older.stop();
    await eventually(() => expect(newer.hasMixedVersions).toBe(false));
  },
);

longIt(
  'counts an instance that does not announce itself as another version while its checkpoint moves',
  async () => {
    const newer = await instance(2);
    newer.poll();
    await named('Ada');
    await eventually(() => expect(newer.hasMixedVersions).toBe(false));
    await earlierInstance(1);
    await eventually(async () => {
      await named('Ada');
      expect(newer.hasMixedVersions).toBe(true);
    });
  },
);

it('warns once of live instances that are more than one minor version away', async () => {
  const warnings = (release: string) =>
    silent.warn.mock.calls.flatMap(([line]) => (line.release === release ? line.incompatible : []));
  const previous = await instance(1, { release: '0.4.3', heartbeatMs: 20 });
  previous.poll();
  await instance(1, { release: '0.5.0' });
  expect([warnings('0.4.3'), warnings('0.5.0')]).toEqual([[], []]);
  const next = await instance(1, { release: '0.6.0' });
  const expected = [`1 instance of 0.4.3 (${hostname()})`];
  expect(warnings('0.6.0')).toEqual(expected);
  // The first instance warns too.
  await eventually(() => expect(warnings('0.4.3')).toEqual([`1 instance of 0.6.0 (${hostname()})`]));
  await next.stop();
  // Instances of releases before 0.5.0 do not announce their version.
  await instance(1);
  await instance(1, { release: '0.5.1' });
  expect(warnings('0.5.1')).toEqual([]);
  await instance(1, { release: '0.7.0' });
  const all = ['0.4.0', '0.4.3', '0.5.0', '0.5.1'];
  expect(warnings('0.7.0')).toEqual(all.map((release) => `1 instance of ${release} (${hostname()})`));
});

it('erases people from an earlier version that no instance serves any more, wherever its checkpoint is', async () => {
  const earlier = await instance(1);
  const person = await named('Ada');
  await earlier.catchUp(await database.store.lastPosition());
  const kept = await named('Chico');
  await earlier.catchUp(await database.store.lastPosition());
  await earlier.stop();
  const later = await instance(2);
  expect((await rows(1)).map(({ name }) => name)).toEqual(['Ada', 'Chico']);
  await later.catchUp(await erase(person));
  expect(await rows(1)).toEqual([{ id: kept, name: 'Chico' }]);
  expect(await rows(2)).toEqual([{ id: kept, name: 'Chico' }]);
});

it('erases people from an earlier version that is still served before the erasure is acknowledged', async () => {
  const [earlier, later] = [await instance(1), await instance(2)];
  earlier.poll();
  for (let round = 0; round < (isLong ? 40 : 10); round += 1) {
    const person = await named('Ada');
    const reading = Promise.all([
      earlier.catchUp(await database.store.lastPosition()),
      later.catchUp(await database.store.lastPosition()),
    ]);
    if (round % 2 === 0) await reading;
    await later.catchUp(await erase(person));
    expect((await rows(1)).filter(({ name }) => name === 'Ada')).toEqual([]);
    await reading;
  }
  await earlier.catchUp(await database.store.lastPosition());
  expect([await rows(1), await rows(2)]).toEqual([[], []]);
});

longIt(
  'drops a version and its checkpoint after no instance has served it for the grace period, and recreates it on demand',
  async () => {
    const earlier = await instance(1);
    earlier.poll();
    const later = await instance(2, SHORT);
    later.poll();
    await whileTheLogGrows(async () => {
      await sleep(2 * SHORT.graceMs);
      expect(await schemas()).toEqual(['people_v1', 'people_v2']);
      expect((await later.versions()).map(({ version, instances }) => [version, instances])).toEqual([
        [1, 1],
        [2, 1],
      ]);
      await earlier.stop();
      await eventually(async () => expect(await schemas()).toEqual(['people_v2']));
    });
    expect((await later.versions()).map(({ version }) => version)).toEqual([2]);
    expect(silent.log).toHaveBeenCalledWith(expect.objectContaining({ projection: 'people', version: 1 }));
    await named('Ada');
    const again = await instance(1);
    expect(await again.status()).toMatchObject([{ version: 1, lag: 0 }]);
  },
);

longIt(
  'recognizes an instance that does not announce itself by its checkpoint, which follows the log',
  async () => {
    const earlier = await earlierInstance(1);
    const later = await instance(2, SHORT);
    later.poll();
    expect((await later.versions())[0]).toMatchObject({ version: 1, instances: 0 });
    await whileTheLogGrows(() => sleep(3 * SHORT.graceMs));
    expect(await schemas()).toEqual(['people_v1', 'people_v2']);
    // While there are no new events, an instance may serve it.
    await whileTheLogGrows(() =>
      eventually(() => expect(later.maintenance.drop('people', 1)).rejects.toThrow(/uses it/)),
    );
    await earlier.stop();
    await whileTheLogGrows(() => eventually(async () => expect(await schemas()).toEqual(['people_v2'])));
  },
);

it('drop: rejects versions that are or may be served, unless forced', async () => {
  const later = await instance(2, { standsStillMs: 1_000 });
  await expect(later.maintenance.drop('people', 2)).rejects.toThrow(/This release uses/);
  await expect(later.maintenance.drop('people', 7)).rejects.toThrow('Version 7 of people does not exist');
  const earlier = await instance(1);
  await expect(later.maintenance.drop('people', 1)).rejects.toThrow('Instances that use it: 1');
  await earlier.stop();
  await expect(later.maintenance.drop('people', 1)).rejects.toThrow(/may use it/);
  await named('Ada');
  const fails = 'UPDATE checkpoints SET failed_position = 1, failed_at = $1 WHERE version = 1';
  await database.source.query(fails, [new Date()]);
  await expect(later.maintenance.drop('people', 1)).rejects.toThrow(/and fails/);
  await database.source.query(fails, [new Date(Date.now() - 3_600_000)]);
  await later.maintenance.drop('people', 1);
  expect(await schemas()).toEqual(['people_v2']);
  await instance(1);
  await later.maintenance.drop('people', 1, true);
  expect(await schemas()).toEqual(['people_v2']);
});

longIt('drop: waits longer than an unannounced instance may hang', async () => {
  const earlier = await earlierInstance(1, { polls: false });
  const later = await instance(2);
  const position = await append(uuidv7(), 0, { type: 'Named', data: {}, personal: { name: 'Ada' } });
  const rejection = expect(later.maintenance.drop('people', 1)).rejects.toThrow(/uses it/);
  await sleep(5_000);
  await earlier.catchUp(position);
  await rejection;
  expect(await schemas()).toEqual(['people_v1', 'people_v2']);
});

it('drops the remains of an interrupted rebuild, but not the tables of a running one', async () => {
  await instance(1);
  const { source, store } = database;
  await source.query('CREATE SCHEMA people_v1_old; CREATE SCHEMA people_v1_beside');
  const rebuild = new Rebuild(people(1), source, store, {});
  await source.transaction(async (other) => {
    await other.query("SELECT pg_advisory_xact_lock(17751, hashtext('people_v1'))");
    await rebuild.tidy();
    expect(await schemas()).toHaveLength(3);
  });
  await rebuild.tidy();
  expect(await schemas()).toEqual(['people_v1']);
});

describe('purge', () => {
  it('rewrites files only if someone was erased since they were created', async () => {
    const projections = await instance(1);
    const [person, other] = [await named('Ada'), await named('Chico')];
    await projections.catchUp(await erase(person));
    const file = async () =>
      (await database.source.query(`SELECT pg_relation_filepath('people_v1.people') AS path`))[0]
        .path as string;
    const before = await file();
    expect(await projections.maintenance.purge()).toMatchObject({
      rebuilt: ['people'],
      underWay: [],
      earlierVersions: [],
    });
    const after = await file();
    expect(after).not.toBe(before);
    expect((await projections.maintenance.purge()).rebuilt).toEqual([]);
    expect(await file()).toBe(after);
    expect(await rows(1)).toEqual([{ id: other, name: 'Chico' }]);
    await projections.catchUp(await erase(other));
    expect((await projections.maintenance.purge()).rebuilt).toEqual(['people']);
  });

  it('lists existing earlier versions, and does not rewrite a first build', async () => {
    const earlier = await instance(1);
    const person = await named('Ada');
    await earlier.catchUp(await erase(person));
    const later = await instance(2);
    expect(await later.maintenance.purge()).toMatchObject({
      rebuilt: [],
      earlierVersions: [{ name: 'people', version: 1 }],
    });
  });

  it('runs automatically when an erasure is older than configured, on one instance', async () => {
    const old = { ...SHORT, purgeAfterHours: 1 };
    const instances = [await instance(1, old), await instance(1, old)];
    const person = await named('Ada');
    await instances[0]!.catchUp(await erase(person));
    for (const projections of instances) projections.poll();
    const clean = async () =>
      Number((await database.source.query('SELECT clean_position FROM checkpoints'))[0].clean_position);
    await sleep(500);
    expect(await clean()).toBe(0);
    const soon = await instance(1, { ...SHORT, purgeAfterHours: 1 / 3_600_000 });
    soon.poll();
    await eventually(async () => expect(await clean()).toBe(await database.store.lastPosition()));
  });
});
