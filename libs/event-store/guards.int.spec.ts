import { v7 as uuidv7 } from 'uuid';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { isLong } from '../../test/length.js';
import { type AppendCommand, type EventStore, type StreamWrite } from './index.js';

let database: TestDatabase;
let stores: EventStore[];
beforeAll(async () => {
  database = await createTestDatabase();
  stores = [database.store, (await database.another()).store];
});
afterAll(() => database.drop());

/** Rounds of concurrent commands. */
const ROUNDS = isLong ? 20 : 6;
const organizationId = uuidv7();
const metadata = { actor: { type: 'system', id: null }, requestId: 'test' } as const;
const happened = { type: 'Happened', data: {} };

function write(streamId: string, expectedVersion: number, subjectId?: string): StreamWrite {
  const subject = subjectId === undefined ? {} : { subjectId };
  return { streamType: 'thing', streamId, expectedVersion, events: [happened], ...subject };
}
function append(
  writes: StreamWrite[],
  rest: Partial<AppendCommand> = {},
  store: EventStore = stores[0]!,
): Promise<string> {
  return store.append({ organizationId, metadata, writes, ...rest }).then(({ status }) => status);
}
async function begin(subject = false): Promise<string> {
  const id = uuidv7();
  expect(await append([write(id, 0, subject ? id : undefined)])).toBe('appended');
  return id;
}
async function positions(streamId: string): Promise<number[]> {
  const events = await stores[0]!.readStream(organizationId, streamId);
  return events.map(({ position }) => position);
}

describe('a guard', () => {
  it('admits commands only while its stream is at the version', async () => {
    const guarded = await begin();
    const guards = [{ streamId: guarded, version: 1 }];
    expect(await append([write(uuidv7(), 0)], { guards })).toBe('appended');
    await append([write(guarded, 1)]);
    const late = uuidv7();
    expect(await append([write(late, 0)], { guards })).toBe('version');
    expect(await positions(late)).toEqual([]);
    expect(await append([write(uuidv7(), 0)], { guards: [{ streamId: guarded, version: 2 }] })).toBe(
      'appended',
    );
  });

  it('rejects a stream that does not exist or belongs to another organization', async () => {
    const guarded = await begin();
    const other = { organizationId: uuidv7(), guards: [{ streamId: guarded, version: 1 }] };
    expect(await append([write(uuidv7(), 0)], other)).toBe('version');
    expect(await append([write(uuidv7(), 0)], { guards: [{ streamId: uuidv7(), version: 1 }] })).toBe(
      'version',
    );
  });

  it('admits no dependent command after a concurrent write to its stream', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const guarded = await begin();
      const guards = [{ streamId: guarded, version: 1 }];
      const resting = Array.from({ length: 60 }, () => uuidv7());
      const results = await Promise.all(
        resting.map(async (id, n) => {
          const store = stores[n % 2]!;
          if (n === 30) await append([write(guarded, 1)], {}, stores[round % 2]);
          return append([write(id, 0)], { guards }, store);
        }),
      );
      const [, closed] = (await positions(guarded)) as [number, number];
      for (const [n, id] of resting.entries()) {
        const [position] = await positions(id);
        expect(results[n]).toBe(position === undefined ? 'version' : 'appended');
        if (position !== undefined) expect(position).toBeLessThan(closed);
      }
    }
  });

  it('can be combined with a write to its stream in one command', async () => {
    const guarded = await begin();
    const guards = [{ streamId: guarded, version: 1 }];
    expect(await append([write(guarded, 1)], { guards })).toBe('appended');
  });
});

describe('a subject', () => {
  const erase = (id: string, store: EventStore) => append([write(id, 1)], { erases: [id] }, store);

  it('must exist in the organization before other streams can refer to it', async () => {
    const subject = await begin(true);
    expect(await append([write(uuidv7(), 0, subject)])).toBe('appended');
    expect(await append([write(uuidv7(), 0, subject)], { organizationId: uuidv7() })).toBe('version');
    expect(await append([write(uuidv7(), 0, uuidv7())])).toBe('version');
    await erase(subject, stores[0]!);
    expect(await append([write(uuidv7(), 0, subject)])).toBe('version');
  });

  it('can be created by the command that refers to it, including personal data', async () => {
    const [subject, link] = [uuidv7(), uuidv7()];
    const said = { ...write(link, 0, subject), events: [{ ...happened, personal: { comment: 'Hello' } }] };
    expect(await append([said, write(subject, 0, subject)])).toBe('appended');
    const [event] = await stores[1]!.readStream(organizationId, link);
    expect(event!.personal).toEqual({ comment: 'Hello' });
  });

  it('gets no more events after its end, in either order of concurrent commands', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const subject = await begin(true);
      const links = Array.from({ length: 40 }, () => uuidv7());
      await Promise.all(
        links.map(async (id, n) => {
          if (n === 20) await erase(subject, stores[round % 2]!);
          await append([write(id, 0, subject)], {}, stores[n % 2]);
        }),
      );
      const [, end] = (await positions(subject)) as [number, number];
      const spoken = (await Promise.all(links.map(positions))).flat();
      for (const position of spoken) expect(position).toBeLessThan(end);
    }
  });
});

describe('appendIf', () => {
  const request = (requestId: string) => ({ metadata: { ...metadata, requestId } });

  it('erases only people about whom no other request has written, in either order of concurrent commands', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const people = await Promise.all(Array.from({ length: 12 }, () => begin(true)));
      const links = people.map(() => uuidv7());
      const erasures = people.map((id) => ({
        organizationId,
        metadata,
        writes: [write(id, 1)],
        erases: [id],
      }));
      const [erased, linked] = await Promise.all([
        stores[round % 2]!.appendIf(erasures, async (sql) => {
          const touched = await stores[0]!.findTouched(organizationId, people, metadata.requestId, sql);
          return people.map((id) => !touched.has(id));
        }),
        Promise.all(links.map((id, n) => append([write(id, 0, people[n])], request('other'), stores[n % 2]))),
      ]);
      // Exactly one of the two is stored for each person.
      for (const [n, status] of linked.entries())
        expect([erased[n]?.status, status]).toEqual(
          status === 'appended' ? [undefined, 'appended'] : ['appended', 'version'],
        );
    }
  });

  it('appends nothing that is not allowed, outdated or given up', async () => {
    const [current, outdated, rejected] = [await begin(), await begin(), await begin()];
    await append([write(outdated, 1)]);
    const commands = [current, outdated, rejected].map((id) => ({
      organizationId,
      metadata,
      writes: [write(id, 1)],
    }));
    const results = await stores[0]!.appendIf(commands, () => Promise.resolve([true, true, false]));
    expect(results.map((result) => result?.status)).toEqual(['appended', 'version', undefined]);
    const givenUp = [{ organizationId, metadata, writes: [write(current, 2)], isGivenUp: () => true }];
    await expect(stores[0]!.appendIf(givenUp, () => Promise.resolve([true]))).rejects.toThrow('given up');
    const sizes = await Promise.all([current, outdated, rejected].map(positions));
    expect(sizes.map(({ length }) => length)).toEqual([2, 2, 1]);
  });
});

it('the events of a request are found in order, and those of others about a person', async () => {
  const [own, other, subject] = [uuidv7(), uuidv7(), await begin(true)];
  const requestId = uuidv7();
  const by = { metadata: { ...metadata, requestId } };
  await append([write(own, 0)], by);
  await append([write(other, 0)], { metadata: { ...metadata, requestId: `${requestId}x` } });
  await append([write(uuidv7(), 0, subject)], by);
  const [store] = stores as [EventStore];
  const found = await store.listOfRequest(organizationId, requestId, 0, 10);
  expect(found.map(({ streamId, type }) => [streamId === own, type])).toEqual([
    [true, 'Happened'],
    [false, 'Happened'],
  ]);
  expect(await store.listOfRequest(organizationId, requestId, found[0]!.position, 1)).toEqual([found[1]]);
  expect(await store.listOfRequest(uuidv7(), requestId, 0, 10)).toEqual([]);
  expect(await store.findTouched(organizationId, [own, subject], requestId)).toEqual(new Set([subject]));
  expect(await store.findTouched(organizationId, [subject], 'test')).toEqual(new Set([subject]));
  expect(await store.findTouched(organizationId, [own, other], requestId)).toEqual(new Set([other]));
});
