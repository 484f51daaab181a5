import { v7 as uuidv7 } from 'uuid';
import { RecordReader } from '#libs/commands';
import { type DomainEvent, fold, type RecordedEvent } from '#libs/event-store';
import { Projections, schemaOf } from '#libs/projections';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { list } from '../src/lists/index.js';
import { projections as readModels } from '../src/modules.js';
import { petition } from '../src/petitions/index.js';
import { isLong } from './length.js';
import { pick, randomOf } from './random.js';
import { type LoadingColumn, RECORD_KINDS, Values } from './record-kinds.js';

/** Loading from a projection's row must give the same result as from the history, however far behind the row is. */

const silent = { log: jest.fn(), warn: jest.fn(), error: jest.fn() };
const metadata = { actor: { type: 'system', id: null }, requestId: 'test' } as const;
const organizationId = uuidv7();

let database: TestDatabase;
let projections: Projections;
let records: RecordReader;
beforeAll(async () => {
  database = await createTestDatabase();
  projections = new Projections(database.source, database.store, readModels, silent);
  await projections.start();
  records = new RecordReader(database.store, projections);
});
afterAll(() => database.drop());

const kinds = Object.fromEntries(
  Object.entries(RECORD_KINDS).flatMap(([streamType, { loading }]) =>
    loading ? [[streamType, loading] as const] : [],
  ),
);

async function append(kind: LoadingColumn, streamId: string, expectedVersion: number, events: DomainEvent[]) {
  const erases = events.some(({ type }) => type === 'ContactErased') ? [streamId] : [];
  const subject = kind.isSubject ? { subjectId: streamId } : {};
  const streamType = kind.decider.streamType;
  const result = await database.store.append({
    organizationId,
    metadata,
    writes: [{ streamType, streamId, expectedVersion, events, ...subject }],
    erases,
  });
  expect(result.status).toBe('appended');
}

/** Each seed gives a different random history. */
const SEEDS = isLong ? [1, 2, 3, 4, 5] : [1];

describe.each(Object.entries(kinds))('%s', (_, kind) => {
  it.each(SEEDS)(
    'loads the same from the projection as from the history, now and at any version, with any lag (seed %i)',
    async (seed) => {
      const random = randomOf(seed);
      const any = new Values(random);
      const streams = new Map(Array.from({ length: isLong ? 6 : 3 }, () => [uuidv7(), 0]));
      const erased = new Set<string>();
      for (let round = 0; round < (isLong ? 9 : 4); round += 1) {
        for (const [id, version] of streams) {
          if (erased.has(id)) continue;
          const count = pick(random, [0, 1, 1, 2, 9, 25]);
          const events = Array.from({ length: count }, (_unused, n) =>
            version + n === 0 ? kind.first(any) : kind.next(any),
          );
          const end = events.findIndex(({ type }) => type === 'ContactErased');
          if (end >= 0) {
            events.splice(end + 1);
            erased.add(id);
          }
          if (events.length > 0) await append(kind, id, version, events);
          streams.set(id, version + events.length);
        }
        if (round % 3 === 1) await projections.catchUp(await database.store.lastPosition());

        const many = await records.loadMany(kind.decider, organizationId, [...streams.keys()]);
        for (const [id, version] of streams) {
          const history: RecordedEvent<any>[] = await database.store.readStream(organizationId, id);
          const expected = fold(kind.decider, history);
          expect(expected.version).toBe(version);
          expect(await records.load(kind.decider, organizationId, id)).toEqual(expected);
          expect(many.get(id)).toEqual(expected);
          const earlier = random(version + 1);
          expect(await records.look(kind.decider, organizationId, id, { version: earlier })).toEqual(
            fold(kind.decider, history.slice(0, earlier)),
          );
        }
      }
      const [foreign] = Object.values(kinds).filter((other) => other !== kind);
      for (const id of streams.keys()) {
        expect((await records.load(foreign!.decider, organizationId, id)).version).toBe(0);
        expect((await records.load(kind.decider, uuidv7(), id)).version).toBe(0);
      }
    },
  );
});

const loaded = readModels.filter(({ snapshots }) => snapshots);

it.each(loaded.map(({ name }) => name))(
  'a rebuild of %s gives the same result as event by event',
  async (name) => {
    await projections.catchUp(await database.store.lastPosition());
    expect(await projections.maintenance.verify(name)).toEqual([]);
  },
);

/** Much longer than an ordinary stream. */
const LENGTH = isLong ? 10_000 : 1_000;

describe(`a stream of ${LENGTH} events`, () => {
  /** The statements of `work`, and the rows and bytes that PostgreSQL returned. */
  async function answered(
    work: () => Promise<unknown>,
  ): Promise<{ rows: number; bytes: number; statements: number }> {
    const query = jest.spyOn(database.source, 'query');
    await work();
    const answers: unknown[][] = await Promise.all(query.mock.results.map(({ value }) => value));
    query.mockRestore();
    return {
      statements: answers.length,
      rows: answers.reduce((sum, rows) => sum + rows.length, 0),
      bytes: JSON.stringify(answers).length,
    };
  }

  it.each(['petition', 'organization'])(
    'loading a %s costs the same as from a short stream',
    async (name) => {
      const kind = kinds[name]!;
      const id = uuidv7();
      await append(kind, id, 0, [kind.first(new Values(randomOf(1)))]);
      const change = (n: number): DomainEvent =>
        name === 'petition'
          ? { type: 'PetitionUpdated', data: { content: 'x'.repeat(2_000), goal: n } }
          : { type: 'OrganizationUpdated', data: { website: String(n) } };
      const part = (LENGTH - 1) / 9;
      for (let version = 1; version < LENGTH; version += part) {
        const changes = Array.from({ length: part }, (_, n) => change(version + n));
        await append(kind, id, version, changes);
      }
      await projections.catchUp(await database.store.lastPosition());
      const expected = { version: LENGTH };
      const load = async () =>
        expect(await records.load(kind.decider, organizationId, id)).toMatchObject(expected);
      expect(await answered(load)).toMatchObject({ statements: 1, rows: 1 });

      if (name !== 'petition') return;
      await append(kind, id, LENGTH, [{ type: 'PetitionDeleted', data: {} }]);
      await projections.catchUp(await database.store.lastPosition());
      const gone = async () =>
        expect((await records.load(petition, organizationId, id)).state).toEqual({ status: 'DELETED' });
      const { bytes, ...cost } = await answered(gone);
      expect(cost).toEqual({ statements: 1, rows: 1 });
      expect(bytes).toBeLessThan(2_000);
    },
  );

  it('is read completely if the projection is unavailable', async () => {
    const id = uuidv7();
    await append(kinds.list!, id, 0, [{ type: 'ListCreated', data: { name: '0', description: 'd' } }]);
    for (let version = 1; version <= LENGTH; version += 500) {
      const events = Array.from({ length: 500 }, (_, n) => ({
        type: 'ListUpdated',
        data: { name: String(version + n) },
      }));
      await append(kinds.list!, id, version, events);
    }
    const schema = schemaOf(readModels.find(({ name }) => name === 'lists')!);
    await database.source.query(`ALTER SCHEMA ${schema} RENAME TO away`);
    const { state, version } = await records.load(list, organizationId, id);
    await database.source.query(`ALTER SCHEMA away RENAME TO ${schema}`);
    expect([state, version]).toEqual([
      { status: 'standing', name: String(LENGTH), description: 'd' },
      LENGTH + 1,
    ]);
  });
});
