import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStorage, type Storage, StorageUnreachable } from '#libs/storage';
import { createTestDatabase, eventually, type TestDatabase } from '#libs/testing';
import { newId } from '#libs/random';
import { ImageFiles } from './image-files.js';
import { type Variant } from './image.js';

let database: TestDatabase;
let directory: string;
let storage: Storage;
let files: ImageFiles;
beforeEach(async () => {
  database = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), 'image-files-'));
  storage = await openStorage({ directory: join(directory, 'store') });
  files = new ImageFiles(database.source, storage);
  await writeFile(join(directory, '8.jpg'), 'pixels');
});
afterEach(async () => {
  await database.drop();
  await rm(directory, { recursive: true });
});

const VARIANTS: Variant[] = [{ name: '8.jpg', type: 'image/jpeg', width: 8, height: 8, bytes: 6 }];
const use = (hash: string) => ({ organizationId: newId(), imageId: newId(), hash });
const isThere = async (hash: string) => (await storage.sizeOf(`${hash}/8.jpg`)) !== undefined;
const put = (one: ReturnType<typeof use>) => files.put(one, directory, VARIANTS);
const isRemoving = async () =>
  (await database.source.query('SELECT FROM image_files')).length > 0 &&
  (await database.source.query('SELECT FROM image_uses')).length === 0;
/** As if that much time had passed. */
const later = () =>
  database.source
    .query(`UPDATE image_uses SET until = until - interval '1 day'`)
    .then(() =>
      database.source.query(`UPDATE image_files SET removing_since = removing_since - interval '1 day'`),
    );

it('keeps files until the last image that uses them is deleted', async () => {
  const [one, two] = [use('a'), use('a')];
  for (const each of [one, two]) {
    (await put(each))();
    await files.keep(each);
  }
  await files.release(one);
  expect(await isThere('a')).toBe(true);
  await files.release(two);
  expect([await isThere('a'), await readdir(join(directory, 'store'))]).toEqual([false, []]);
  // Again, because events may be handled twice.
  await files.release(two);
});

it('reports only uploads that were abandoned', async () => {
  const [died, stands, fresh] = [use('a'), use('b'), use('c')];
  for (const one of [died, stands]) await put(one);
  await files.keep(stands);
  expect(await files.unsettled()).toEqual([]);
  await later();
  await put(fresh);
  expect(await files.unsettled()).toEqual([died]);
});

/** The same files, in a store with a different way of removing. */
const removing = (removeFolder: () => Promise<void>) =>
  new ImageFiles(
    database.source,
    Object.create(storage, { removeFolder: { value: removeFolder } }) as Storage,
  );

it('resumes a removal after a crash, and no image can use the files until then', async () => {
  const one = use('a');
  await put(one);
  void removing(() => new Promise(() => undefined)).release(one);
  await eventually(async () => expect(await isRemoving()).toBe(true));
  const next = use('a');
  await expect(put(next)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  // A repeated removal does not delete them either.
  await files.release(one);
  await files.goOnRemoving();
  expect(await isThere('a')).toBe(true);
  await later();
  await files.goOnRemoving();
  expect(await isThere('a')).toBe(false);
  await put(next);
  expect(await isThere('a')).toBe(true);
});

it('retries a failed removal immediately', async () => {
  const one = use('a');
  await put(one);
  const away = removing(() => Promise.reject(new StorageUnreachable('away')));
  await expect(away.release(one)).rejects.toThrow('away');
  await expect(away.goOnRemoving()).rejects.toThrow('away');
  await files.release(one);
  expect([await isThere('a'), await isRemoving()]).toEqual([false, false]);
});

it('never removes files that an image begins to use at that moment', async () => {
  for (let round = 0; round < 30; round += 1) {
    const before = use('a');
    await put(before);
    await files.keep(before);
    const uses = Array.from({ length: 3 }, () => use('a'));
    await Promise.all([files.release(before), ...uses.map((one) => put(one).then(() => files.keep(one)))]);
    expect(await isThere('a')).toBe(true);
    for (const one of uses) await files.release(one);
    expect(await isThere('a')).toBe(false);
  }
});
