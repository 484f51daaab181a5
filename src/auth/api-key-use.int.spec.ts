import { Logger } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { IncidentLog } from '#libs/database';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { ApiKeyUse } from './api-key-use.js';

let database: TestDatabase;
let warn: jest.SpyInstance;
beforeAll(async () => {
  database = await createTestDatabase();
  warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
});
afterAll(() => database.drop());
beforeEach(() => warn.mockClear());

const instance = async () => new ApiKeyUse((await database.another()).source, new IncidentLog(new Logger()));
const organizationId = uuidv7();
const pause = () => new Promise((resolve) => setTimeout(resolve, 5));

it('returns nothing for a key that was never used', async () => {
  const use = await instance();
  await use.write();
  expect(await use.find(organizationId, [uuidv7()])).toEqual(new Map());
});

it('keeps the latest use of all instances, in whichever order they write', async () => {
  const [one, two] = [await instance(), await instance()];
  const key = uuidv7();
  const lastUse = async () => (await two.find(organizationId, [key])).get(key)!;

  one.record(organizationId, key);
  await one.write();
  const first = await lastUse();
  await pause();

  one.record(organizationId, key);
  await pause();
  two.record(organizationId, key);
  await two.write();
  const latest = await lastUse();
  expect(latest.getTime()).toBeGreaterThan(first.getTime());
  await one.write();
  expect(await lastUse()).toEqual(latest);
});

it('writes the same keys from many instances concurrently without a deadlock', async () => {
  const keys = Array.from({ length: 300 }, () => uuidv7());
  const instances = await Promise.all(Array.from({ length: 4 }, instance));
  for (let round = 0; round < 10; round += 1) {
    await Promise.all(
      instances.map((use, n) => {
        for (const key of n % 2 === 0 ? keys : keys.toReversed()) use.record(organizationId, key);
        return use.write();
      }),
    );
  }
  expect(warn).not.toHaveBeenCalled();
  expect((await instances[0]!.find(organizationId, keys)).size).toBe(keys.length);
});

it('warns once while writes fail, loses nothing, and writes the rest at shutdown', async () => {
  const use = await instance();
  const [one, two] = [uuidv7(), uuidv7()];
  await database.source.query('ALTER TABLE api_key_use RENAME TO gone');
  for (const key of [one, two, one]) {
    use.record(organizationId, key);
    await use.write();
  }
  expect(warn).toHaveBeenCalledTimes(1);
  await database.source.query('ALTER TABLE gone RENAME TO api_key_use');
  await use.onApplicationShutdown();
  expect([...(await use.find(organizationId, [one, two])).keys()].sort()).toEqual([one, two].sort());
});
