import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { EventStore, Keyring, Rewrapping } from './index.js';

const [FIRST, SECOND, THIRD] = [1, 2, 3].map((n) => Buffer.alloc(32, n)) as [Buffer, Buffer, Buffer];
const metadata = { actor: { type: 'system' as const, id: 'test' }, requestId: 'test' };
const anybody = () => Promise.resolve();

let database: TestDatabase;
let organizationId: string;
beforeEach(async () => {
  database = await createTestDatabase();
  organizationId = uuidv7();
});
afterEach(() => database.drop());

/** Starts an instance with these keys. */
async function instance(master: Buffer, previous?: Buffer) {
  const store = new EventStore(database.source, new Keyring(master, previous));
  return { store, fault: await store.keyring.openFor(database.source) };
}

async function storeOf(master: Buffer, previous?: Buffer): Promise<EventStore> {
  const { store, fault } = await instance(master, previous);
  expect(fault).toBeUndefined();
  return store;
}

async function persons(store: EventStore, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuidv7());
  const writes = ids.map((streamId) => ({
    streamType: 'contact',
    streamId,
    subjectId: streamId,
    expectedVersion: 0,
    events: [{ type: 'ContactCreated', data: {}, personal: { name: streamId } }],
  }));
  expect(await store.append({ organizationId, metadata, writes })).toMatchObject({ status: 'appended' });
  return ids;
}

async function expectReadable(store: EventStore, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    expect(await store.readStream(organizationId, id)).toMatchObject([{ personal: { name: id } }]);
  }
}

async function rewrap(store: EventStore, permit = anybody) {
  const rewrapping = new Rewrapping(database.source, store.keyring);
  expect(await rewrapping.takeOver(permit)).toBeUndefined();
  const sum = { rewrapped: 0, unreadable: 0 };
  for await (const { rewrapped, unreadable } of rewrapping.pages()) {
    sum.rewrapped += rewrapped;
    sum.unreadable += unreadable;
  }
  await rewrapping.finish();
  return sum;
}

it('rewraps everything so that only the new master key opens it, and keeps the hashes', async () => {
  const old = await storeOf(FIRST);
  const { keyring } = await storeOf(SECOND, FIRST);
  expect(keyring.hash('a')).toEqual(old.keyring.hash('a'));
  // More than one page.
  const ids = await persons(old, 501);
  const beside = await storeOf(SECOND, FIRST);
  // Before the takeover, it wraps like instances that have only the old key.
  await expectReadable(old, await persons(beside, 1));
  expect((await instance(SECOND)).fault).toBe('first');

  const some = ids.filter((_, n) => n % 100 === 0);
  expect(await rewrap(await storeOf(SECOND, FIRST))).toEqual({ rewrapped: 502, unreadable: 0 });
  expect(await rewrap(await storeOf(SECOND, FIRST))).toEqual({ rewrapped: 0, unreadable: 0 });
  const next = await storeOf(SECOND);
  for (const store of [next, beside]) await expectReadable(store, some);
  expect(next.keyring.hash('a')).toEqual(old.keyring.hash('a'));
  expect(next.keyring.signingSeed).toEqual(old.keyring.signingSeed);

  expect((await instance(FIRST)).fault).toBe('replaced');
  // The check of versions up to 0.3.0.
  const [{ check_value }] = await database.source.query('SELECT check_value FROM key_check');
  for (const master of [FIRST, SECOND]) {
    expect(new Keyring(master).hash('key check').equals(check_value)).toBe(false);
  }

  // A second replacement, and one back to an earlier key.
  expect(await rewrap(await storeOf(THIRD, SECOND))).toEqual({ rewrapped: 502, unreadable: 0 });
  expect(await rewrap(await storeOf(FIRST, THIRD))).toEqual({ rewrapped: 502, unreadable: 0 });
  const again = await storeOf(FIRST);
  await expectReadable(again, some);
  expect(again.keyring.hash('a')).toEqual(old.keyring.hash('a'));
});

it('uses the new key on instances with both keys after the takeover, and stores nothing on those with only the old key', async () => {
  const [old, beside] = [await storeOf(FIRST), await storeOf(SECOND, FIRST)];
  const rewrapping = new Rewrapping(database.source, (await storeOf(SECOND, FIRST)).keyring);

  // Appends that run when the takeover begins are stored before it.
  const runner = database.source.createQueryRunner();
  await runner.startTransaction();
  await runner.query('SET LOCAL idle_in_transaction_session_timeout = 0');
  const late = uuidv7();
  await runner.query('INSERT INTO subject_keys VALUES ($1, $2, $3)', [
    organizationId,
    late,
    old.keyring.newSubjectKey(late).wrapped,
  ]);
  const taking = rewrapping.takeOver(anybody);
  while (!(await isWaitedFor())) continue;
  await runner.commitTransaction();
  await runner.release();
  expect(await taking).toBeUndefined();

  const ids = await persons(beside, 2);
  await expect(persons(old, 1)).rejects.toThrow('the master key was replaced by another');
  const pages = [];
  for await (const page of rewrapping.pages()) pages.push(page);
  expect(pages).toEqual([{ rewrapped: 1, unreadable: 0 }]);
  await rewrapping.finish();
  await expectReadable(await storeOf(SECOND), ids);
});

async function isWaitedFor(): Promise<boolean> {
  const waiting = await database.source.query(
    `SELECT FROM pg_locks WHERE relation = 'subject_keys'::regclass AND NOT granted`,
  );
  return waiting.length > 0;
}

it('resumes after an interruption, until which no instance starts without the previous key', async () => {
  const ids = await persons(await storeOf(FIRST), 1_100);
  const begun = new Rewrapping(database.source, (await storeOf(SECOND, FIRST)).keyring);
  await begun.takeOver(anybody);
  for await (const { rewrapped } of begun.pages()) {
    expect(rewrapped).toBe(500);
    break;
  }
  for (const [master, previous] of [[SECOND], [SECOND, THIRD], [THIRD, SECOND]] as const) {
    expect((await instance(master, previous)).fault).toBe('unfinished');
  }
  const back = await storeOf(FIRST, SECOND);
  expect(await new Rewrapping(database.source, back.keyring).takeOver(anybody)).toBe('unfinished');
  await expectReadable(back, [ids[0]!, ids[1_099]!]);

  // A person erased in between stays erased, and an altered key does not stop the rewrapping.
  const erased = ids[700]!;
  await database.source.query('DELETE FROM subject_keys WHERE subject_id = $1', [erased]);
  await database.source.query('UPDATE subject_keys SET wrapped_key = $2 WHERE subject_id = $1', [
    ids[800],
    randomBytes(60),
  ]);
  expect(await rewrap(await storeOf(SECOND, FIRST))).toEqual({ rewrapped: 598, unreadable: 1 });
  const next = await storeOf(SECOND);
  await expectReadable(next, [ids[0]!, ids[499]!, ids[500]!, ids[1_099]!]);
  expect(await next.readStream(organizationId, erased)).toMatchObject([{ personal: null }]);
});

it('changes nothing if it is not permitted', async () => {
  const [id] = await persons(await storeOf(FIRST), 1);
  const store = await storeOf(SECOND, FIRST);
  await expect(rewrap(store, () => Promise.reject(new Error('not yet')))).rejects.toThrow('not yet');
  await expectReadable(await storeOf(FIRST), [id!]);
});
