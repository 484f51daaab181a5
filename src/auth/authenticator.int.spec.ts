import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuid } from 'uuid';
import { ReservedConnections } from '#libs/database';
import { JsonLogger } from '#libs/operations';
import { Projections } from '#libs/projections';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { ApiKeysTable } from './api-keys-table.js';
import { API_KEYS_TABLE, apiKeysProjection } from './api-keys.projection.js';
import { Authenticator } from './authenticator.js';
import { newApiKey } from './create-api-key.js';
import { longIt } from '../../test/length.js';

const DETAILS = { name: 'Test', scopes: ['*'], rateLimit: null, expiresAt: null };
const CACHE_MS = 500;

let database: TestDatabase;
let projections: Projections;
beforeAll(async () => {
  database = await createTestDatabase();
  projections = new Projections(
    database.source,
    database.store,
    [apiKeysProjection],
    new JsonLogger('silent'),
  );
  await projections.start();
});
afterAll(() => database.drop());

/** An instance of its own. `statements` are its queries to PostgreSQL. */
function instance() {
  const table = new ApiKeysTable(new ReservedConnections(database.source), database.store, projections);
  const statements = jest.spyOn(table, 'findByPublicId');
  const lists = jest.spyOn(table, 'livePublicIds');
  return { authenticator: new Authenticator(table, database.store), statements, lists };
}

type Instance = ReturnType<typeof instance>;

/** Authenticates a key on an instance. `guesses` counts how often the client was charged for a guess. */
async function ask({ authenticator }: Instance, key: string, beforeGuess?: () => Promise<void>) {
  let guesses = 0;
  const authentication = await authenticator.authenticate(`Bearer ${key}`, async () => {
    guesses += 1;
    await beforeGuess?.();
  });
  return { isGood: 'key' in authentication, guesses };
}

const random = (length: number) => randomBytes(length).toString('hex').slice(0, length);
const invented = (length: number) => `adv_${random(8)}_${random(length)}`;

type StoredWrite = ReturnType<typeof newApiKey>['write'];
async function store(write: StoredWrite): Promise<void> {
  const metadata = { actor: { type: 'system' as const, id: 'test' }, requestId: 'test' };
  await database.store.append({ organizationId: uuid(), metadata, writes: [write] });
  await projections.catchUp(await database.store.lastPosition());
}

async function newKey(): Promise<string> {
  const { key, write } = newApiKey(database.store.keyring, DETAILS);
  await store(write);
  return key;
}

/** A key as versions before checksums created it. */
async function oldKey(): Promise<string> {
  const [publicId, secret] = [random(8), random(40)];
  const secretHash = createHash('sha256').update(secret).digest('hex');
  const events = [{ type: 'ApiKeyCreated', data: { ...DETAILS, publicId, secretHash } }];
  await store({ streamType: 'api-key', streamId: uuid(), expectedVersion: 0, events });
  return `adv_${publicId}_${secret}`;
}

it('rejects keys with an invalid checksum without a query or a charge', async () => {
  const one = instance();
  const good = await newKey();
  const swapped = good.slice(0, -1) + (good.endsWith('a') ? 'b' : 'a');
  for (const key of [invented(46), invented(39), invented(41), invented(45), invented(47), swapped, 'x']) {
    expect(await ask(one, key)).toEqual({ isGood: false, guesses: 0 });
  }
  const otherPublicId = good.replace(/^adv_.{8}/, `adv_${random(8)}`);
  expect(await ask(one, otherPublicId)).toEqual({ isGood: false, guesses: 0 });
  expect(one.statements).toHaveBeenCalledTimes(0);
  expect(await ask(one, good)).toEqual({ isGood: true, guesses: 0 });
  expect(one.statements).toHaveBeenCalledTimes(1);
});

it('remembers a valid key without a checksum, even for clients over their limit', async () => {
  const [one, two] = [instance(), instance()];
  const key = await oldKey();
  expect(await ask(one, key)).toEqual({ isGood: true, guesses: 0 });
  await sleep(CACHE_MS + 1);
  expect(await ask(one, key)).toEqual({ isGood: true, guesses: 0 });
  expect(one.statements).toHaveBeenCalledTimes(2);
  // Another secret with the same public id costs one query in half a second.
  await sleep(CACHE_MS + 1);
  for (let n = 0; n < 5; n += 1) {
    expect(await ask(one, key.slice(0, -8) + random(8))).toEqual({ isGood: false, guesses: 0 });
  }
  expect(one.statements).toHaveBeenCalledTimes(3);
  // On an instance that has just started, from an address over its limit.
  const broke = () => Promise.reject(new Error('no more'));
  const flood = Array.from({ length: 20 }, () => ask(two, invented(40), broke).catch(() => 'refused'));
  expect(await ask(two, key, broke)).toEqual({ isGood: true, guesses: 0 });
  expect(new Set(await Promise.all(flood))).toEqual(new Set(['refused']));
  expect([two.statements, two.lists].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
});

it('charges for a key without a checksum that was created after the live keys were read', async () => {
  const one = instance();
  await ask(one, await oldKey());
  const late = await oldKey();
  expect(await ask(one, late)).toEqual({ isGood: true, guesses: 1 });
  expect(await ask(one, late)).toEqual({ isGood: true, guesses: 0 });
  expect(one.lists).toHaveBeenCalledTimes(1);
});

it('reads the live keys again after a failure', async () => {
  const one = instance();
  const key = await oldKey();
  const broke = () => Promise.reject(new Error('no more'));
  await database.source.query(`ALTER TABLE ${API_KEYS_TABLE} RENAME TO away`);
  try {
    await expect(ask(one, key, broke)).rejects.toThrow('no more');
  } finally {
    await database.source.query(
      `ALTER TABLE ${API_KEYS_TABLE.replace('.api_keys', '.away')} RENAME TO api_keys`,
    );
  }
  expect(await ask(one, key, broke)).toEqual({ isGood: true, guesses: 0 });
  expect(one.lists).toHaveBeenCalledTimes(2);
});

it('sends no query for an invented key from a client over its limit', async () => {
  const one = instance();
  const broke = () => Promise.reject(new Error('no more'));
  for (let n = 0; n < 10; n += 1) await expect(ask(one, invented(40), broke)).rejects.toThrow('no more');
  expect(one.statements).toHaveBeenCalledTimes(0);
});

it('sends one query for an unknown key that is repeated, concurrently or in sequence', async () => {
  const one = instance();
  const key = invented(40);
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(one, key)));
  for (let n = 0; n < 20; n += 1) answers.push(await ask(one, key));
  expect(answers.filter(({ isGood }) => isGood)).toEqual([]);
  expect(one.statements).toHaveBeenCalledTimes(1);
  expect((await ask(one, key)).guesses).toBe(0);
});

it('finds a key it has missed before within a second of its creation', async () => {
  const one = instance();
  const { key, write } = newApiKey(database.store.keyring, DETAILS);
  expect((await ask(one, key)).isGood).toBe(false);
  await store(write);
  await sleep(CACHE_MS + 1);
  expect((await ask(one, key)).isGood).toBe(true);
  expect(one.statements).toHaveBeenCalledTimes(2);
});

longIt(
  'keeps valid keys however many unknown ones arrive, and limits the cache of unknown ones',
  async () => {
    const one = instance();
    const key = await oldKey();
    await ask(one, key);
    for (let n = 0; n < 250; n += 1) {
      await Promise.all(Array.from({ length: 100 }, () => ask(one, invented(40))));
    }
    const { missed } = one.authenticator as unknown as { missed: Map<string, number> };
    expect(missed.size).toBeLessThanOrEqual(20_000);
    expect(await ask(one, key)).toEqual({ isGood: true, guesses: 0 });
  },
);
