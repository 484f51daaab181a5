import { v7 as uuidv7 } from 'uuid';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { EventStore, Keyring, type Upcasters } from './index.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** Greeted said `name`; then `person: { name }`; then also `loud`. */
const upcasters: Upcasters = {
  Greeted: [
    ({ data, personal }) => ({ data, personal: personal && { person: { name: personal.name! } } }),
    ({ data, personal }) => ({ data: { ...data, loud: false }, personal }),
  ],
};
const keyring = new Keyring(Buffer.alloc(32, 1));
const organizationId = uuidv7();
const metadata = { actor: { type: 'system', id: null }, requestId: 'test' } as const;

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

it('reads every shape as the last, stores with the last schema, and shows auditors what was stored', async () => {
  const past = new EventStore(database.source, keyring);
  const between = new EventStore(database.source, keyring, { Greeted: upcasters.Greeted!.slice(0, 1) });
  const today = new EventStore(database.source, keyring, upcasters);
  const id = uuidv7();
  await greet(past, id, 0, { personal: { name: 'Ada' } });
  await greet(between, id, 1, { personal: { person: { name: 'Ada' } } });
  await greet(today, id, 2, { data: { loud: true }, personal: { person: { name: 'Ada' } } });

  const shape = ({ schema, data, personal }: { schema: number; data: object; personal?: object | null }) => [
    schema,
    data,
    personal,
  ];
  const person = { person: { name: 'Ada' } };
  const expected = [
    [1, { loud: false }, person],
    [2, { loud: false }, person],
    [3, { loud: true }, person],
  ];
  expect((await today.readStream(organizationId, id)).map(shape)).toEqual(expected);
  expect((await today.readAll(0, await today.horizon(), 10)).map(shape)).toEqual(expected);
  const range = { after: 0, upTo: await today.horizon() };
  expect((await today.readHistory(organizationId, range, 10)).events.map(shape)).toEqual([
    [1, {}, { name: 'Ada' }],
    [2, {}, person],
    [3, { loud: true }, person],
  ]);
});

it('reads the events of the erased, and refuses a schema of the future', async () => {
  const past = new EventStore(database.source, keyring);
  const today = new EventStore(database.source, keyring, upcasters);
  const id = uuidv7();
  await greet(past, id, 0, { personal: { name: 'Ada' } });
  const writes = [
    { streamType: 'thing', streamId: id, expectedVersion: 1, events: [{ type: 'Ended', data: {} }] },
  ];
  await today.append({ organizationId, metadata, writes, ends: [id] });
  expect((await today.readStream(organizationId, id))[0]).toMatchObject({
    data: { loud: false },
    personal: null,
  });

  const other = uuidv7();
  await greet(today, other, 0, { data: { loud: true } });
  await expect(past.readStream(organizationId, other)).rejects.toThrow(/schema 3; this version knows 1/);
});
