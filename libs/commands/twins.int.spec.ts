import { v7 as uuidv7 } from 'uuid';
import { type Decider } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { systemInput, Input } from '#libs/rpc';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { Commands } from './commands.js';
import { writeTo } from './decision.js';

type Thing = { status: 'unknown' } | { status: 'standing'; name: string };
type ThingEvent = { type: 'ThingNamed'; data: { name: string } };
const thing: Decider<Thing, ThingEvent> = {
  streamType: 'thing',
  initial: { status: 'unknown' },
  events: { ThingNamed: true },
  evolve: (_, { data }) => ({ status: 'standing', ...data }),
};

class CreateThing extends Input {
  name!: string;
}
class RenameThing extends Input {
  name!: string;
}

let database: TestDatabase;
let projections: Projections;
let commands: Commands;
const organizationId = uuidv7();
beforeAll(async () => {
  database = await createTestDatabase();
  const logger = { log: () => undefined, warn: () => undefined, error: () => undefined };
  projections = new Projections(database.source, database.store, [], logger);
  commands = new Commands(database.store, projections);
});
afterAll(() => database.drop());

const named = (name: string): ThingEvent[] => [{ type: 'ThingNamed', data: { name } }];

async function create(name: string): Promise<string> {
  const input = systemInput(CreateThing, organizationId, { name }, 'test');
  const { recordId } = await commands.create(thing, input, () => named(name));
  return recordId;
}

async function rename(id: string, name: string): Promise<void> {
  const input = systemInput(RenameThing, organizationId, { name }, 'test');
  await commands.change(thing, input, id, () => named(name));
}

/** Creates like `Commands.create`, and runs something during the check of the twin. */
function createWhile(name: string, happens: (twin: string) => Promise<void>): Promise<string> {
  const input = systemInput(CreateThing, organizationId, { name }, 'test');
  const check = commands.named(thing, organizationId, (state) => 'name' in state && state.name === name);
  let isFirst = true;
  const run = commands.run(input, () => {
    const recordId = uuidv7();
    return {
      recordId,
      creates: async (twin) => {
        const found = await check(twin);
        if (isFirst) await happens(twin);
        isFirst = false;
        return found;
      },
      writes: [writeTo(thing, recordId, 0, [{ type: 'ThingNamed', data: { name } }])],
    };
  });
  return run.then(({ recordId }) => recordId);
}

it('leaves the request to a twin that gets its name back before the request is released', async () => {
  const first = await create('back');
  await rename(first, 'away');
  expect(await createWhile('back', (twin) => rename(twin, 'back'))).toBe(first);
  expect(await create('back')).toBe(first);
});

it('does not take a request that another record claimed in the meantime', async () => {
  const first = await create('taken');
  await rename(first, 'other');
  let second: string | undefined;
  const answered = await createWhile('taken', async () => {
    second = await create('taken');
  });
  expect(second).not.toBe(first);
  expect(answered).toBe(second);
  expect(await create('taken')).toBe(second);
});

it('returns a twin that is renamed after the check, because the create came first', async () => {
  const first = await create('before');
  expect(await createWhile('before', (twin) => rename(twin, 'after'))).toBe(first);
  expect(await create('before')).not.toBe(first);
});

it('does not return a record with another name or of another kind for an input that is no longer valid', async () => {
  const input = systemInput(CreateThing, organizationId, { name: 'late' }, 'test');
  const check = commands.named(thing, organizationId, (state) => 'name' in state && state.name === 'late');
  expect(await commands.findTwin(input, check)).toBeUndefined();
  const first = await create('late');
  expect(await commands.findTwin(input, check)).toBe(first);
  await rename(first, 'later');
  expect(await commands.findTwin(input, check)).toBeUndefined();
  const ofAnotherKind = commands.named(
    { ...thing, streamType: 'other' },
    organizationId,
    (state) => 'name' in state,
  );
  expect((await ofAnotherKind(first)).holds).toBe(false);
});

it('finishes when the requests of many twins are released concurrently in any order', async () => {
  const names = Array.from({ length: 40 }, (_, n) => `many ${n}`);
  const ids = await Promise.all(names.map(create));
  await Promise.all(ids.map((id, n) => rename(id, `renamed ${n}`)));
  const other = await database.another();
  const elsewhere = new Commands(other.store, projections);
  const anew = await Promise.all(
    [...names, ...names.toReversed()].map((name, n) => {
      const input = systemInput(CreateThing, organizationId, { name }, 'test');
      const on = n < names.length ? commands : elsewhere;
      return on.create(thing, input, () => named(name));
    }),
  );
  const made = anew.map(({ recordId }) => recordId);
  expect(made.slice(names.length).reverse()).toEqual(made.slice(0, names.length));
  expect(new Set([...made, ...ids]).size).toBe(80);
});
