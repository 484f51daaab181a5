import { v7 as uuidv7 } from 'uuid';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { type Cast, EventStore, Keyring, NewerEvent, type Upcasters } from './index.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** Greeted first had `name`, then `person: { name }`, then also `loud`. */
const toSecond: Cast = ({ data, personal }) => ({
  data,
  personal: personal && { person: { name: personal.name! } },
});
const toThird: Cast = ({ data, personal }) => ({ data: { ...data, loud: false }, personal });
const asSecond: Cast = ({ data: { loud: _loud, ...data }, personal }) => ({ data, personal });

/** Consecutive releases. Each shape is read by a release before the next one writes it. */
const RELEASES = {
  first: {},
  readsSecond: {
    Greeted: {
      reads: [toSecond],
      writes: {
        asBefore: ({ data, personal }) => ({
          data,
          personal: personal && { name: (personal.person as { name: string }).name },
        }),
      },
    },
  },
  writesSecond: { Greeted: { reads: [toSecond], writes: 'newest' } },
  readsThird: { Greeted: { reads: [toSecond, toThird], writes: { asBefore: asSecond } } },
  writesThird: { Greeted: { reads: [toSecond, toThird], writes: 'newest' } },
} satisfies Record<string, Upcasters>;

const keyring = new Keyring(Buffer.alloc(32, 1));
const organizationId = uuidv7();
const metadata = { actor: { type: 'system', id: null }, requestId: 'test' } as const;
const release = (name: keyof typeof RELEASES) => new EventStore(database.source, keyring, RELEASES[name]);

async function greet(store: EventStore, streamId: string, version: number, event: object): Promise<void> {
  const writes = [
    {
      streamType: 'thing',
      streamId,
      expectedVersion: version,
      subjectId: streamId,
      events: [{ type: 'Greeted', data: {}, ...event }],
    },
  ];
  expect((await store.append({ organizationId, metadata, writes })).status).toBe('appended');
}

type Shaped = { schema: number; data: object; personal?: object | null };
const shape = ({ schema, data, personal }: Shaped) => [schema, data, personal];
const person = { person: { name: 'Ada' } };

it('reads every shape as the newest, stores the shape of each release, and shows auditors the stored shape', async () => {
  const id = uuidv7();
  await greet(release('first'), id, 0, { personal: { name: 'Ada' } });
  await greet(release('readsSecond'), id, 1, { personal: person });
  await greet(release('writesSecond'), id, 2, { personal: person });
  await greet(release('readsThird'), id, 3, { data: { loud: true }, personal: person });
  const newest = release('writesThird');
  await greet(newest, id, 4, { data: { loud: true }, personal: person });

  const expected = [
    [1, { loud: false }, person],
    [1, { loud: false }, person],
    [2, { loud: false }, person],
    [2, { loud: false }, person],
    [3, { loud: true }, person],
  ];
  expect((await newest.readStream(organizationId, id)).map(shape)).toEqual(expected);
  expect((await newest.readAll(0, await newest.horizon(), 10)).map(shape)).toEqual(expected);
  const range = { after: 0, upTo: await newest.horizon() };
  const $salt: unknown = expect.any(String);
  expect((await newest.readHistory(organizationId, range, 10)).events.map(shape)).toEqual([
    [1, {}, { $salt, name: 'Ada' }],
    [1, {}, { $salt, name: 'Ada' }],
    [2, {}, { $salt, ...person }],
    [2, {}, { $salt, ...person }],
    [3, { loud: true }, { $salt, ...person }],
  ]);
});

it.each([
  ['first', 'readsSecond'],
  ['readsSecond', 'writesSecond'],
  ['writesSecond', 'readsThird'],
  ['readsThird', 'writesThird'],
] as const)('%s and %s read what the other writes', async (before, after) => {
  const id = uuidv7();
  const event = (name: keyof typeof RELEASES) => ({
    data: name.endsWith('Third') ? { loud: true } : {},
    personal: name === 'first' ? { name: 'Ada' } : person,
  });
  await greet(release(before), id, 0, event(before));
  await greet(release(after), id, 1, event(after));
  for (const name of [before, after])
    expect(await release(name).readStream(organizationId, id)).toHaveLength(2);
});

it('reads events of erased people', async () => {
  const newest = release('writesThird');
  const id = uuidv7();
  await greet(release('first'), id, 0, { personal: { name: 'Ada' } });
  const writes = [
    { streamType: 'thing', streamId: id, expectedVersion: 1, events: [{ type: 'Ended', data: {} }] },
  ];
  await newest.append({ organizationId, metadata, writes, erases: [id] });
  expect((await newest.readStream(organizationId, id))[0]).toMatchObject({
    data: { loud: false },
    personal: null,
  });
});

it('rejects a stream that contains a future shape, and omits its event from the log', async () => {
  const [first, id] = [release('first'), uuidv7()];
  const begin = await first.lastPosition();
  await greet(first, id, 0, {});
  await greet(release('writesThird'), id, 1, { data: { loud: true } });
  await greet(first, uuidv7(), 0, {});
  await expect(first.readStream(organizationId, id)).rejects.toThrow(NewerEvent);
  await expect(first.readStreamsNow(organizationId, [id])).rejects.toThrow(/Greeted, schema 3/);
  const page = await first.readPage(begin, await first.horizon(), 10, ['Greeted']);
  expect(page.events.map(({ schema }) => schema)).toEqual([1, 1]);
  expect(page.end).toBe(await first.horizon());
});

it('does not write a type that is only read so far', async () => {
  const store = new EventStore(database.source, keyring, { Waved: { reads: [], writes: 'not yet' } });
  const writes = [
    { streamType: 'thing', streamId: uuidv7(), expectedVersion: 0, events: [{ type: 'Waved', data: {} }] },
  ];
  await expect(store.append({ organizationId, metadata, writes })).rejects.toThrow(/not written yet/);
});
