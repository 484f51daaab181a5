import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Sql } from '#libs/database';
import { type Storage } from '#libs/storage';
import { images } from './images.js';
import { imageFilesId, type StoredFile } from './stored-files.js';

const PAGE = 100;

type Row = { organization_id: string; id: string; hash: string };
type Altered = { image: Row; isMissing: boolean };

/**
 * Compares the files of images with their digests in `ImageFilesStored`, which images from before version 0.9.0 do not have. No one waits,
 * so it pauses after each file as long as reading it took.
 *
 * @returns what is wrong, in one sentence; undefined if nothing is.
 * @throws StorageUnreachable
 */
export async function findAlteredFiles(sql: Sql, storage: Storage): Promise<string | undefined> {
  let first: Altered | undefined;
  let count = 0;
  for (let after = { organization_id: NIL, id: NIL }; ;) {
    const rows = await sql.query<Row[]>(IMAGES, [after.organization_id, after.id, PAGE]);
    const recorded = await digestsIn(sql, rows);
    for (const image of rows) {
      const altered = await alteredIn(sql, storage, image, recorded.get(image.id) ?? []);
      if (!altered) continue;
      count += 1;
      first ??= altered;
    }
    if (rows.length < PAGE) break;
    after = rows.at(-1)!;
  }
  if (!first) return undefined;
  const { image, isMissing } = first;
  const more = count > 1 ? `, and of ${count - 1} more images` : '';
  const what = isMissing ? 'are missing' : 'are not those that the history recorded when it was uploaded';
  return `Files of image ${image.id} of organization ${image.organization_id}${more} ${what}.`;
}

async function alteredIn(
  sql: Sql,
  storage: Storage,
  image: Row,
  files: readonly StoredFile[],
): Promise<Altered | undefined> {
  for (const { name, sha256 } of files) {
    const began = performance.now();
    const stored = await digestOf(storage, `${image.hash}/${name}`);
    await sleep(performance.now() - began);
    if (stored === sha256) continue;
    // Images with the same hash share their files, and another version may have rendered them differently. Deleted ones have none.
    const sharing = await sql.query<Row[]>(SHARING, [image.hash]);
    if (!sharing.some(({ id }) => id === image.id)) return undefined;
    const digests = await digestsIn(sql, sharing);
    const isKnown = sharing.some(({ id }) =>
      digests.get(id)?.some((one) => one.name === name && one.sha256 === stored),
    );
    if (!isKnown) return { image, isMissing: stored === undefined };
  }
  return undefined;
}

/** By the ids of the images. */
async function digestsIn(sql: Sql, rows: readonly Row[]): Promise<Map<string, StoredFile[]>> {
  const found = await sql.query<{ id: string; files: StoredFile[] }[]>(DIGESTS, [
    rows.map((row) => row.organization_id),
    rows.map(({ id }) => imageFilesId(id)),
  ]);
  return new Map(found.map(({ id, files }) => [id, files]));
}

async function digestOf(storage: Storage, name: string): Promise<string | undefined> {
  const file = await storage.read(name);
  if (!file) return undefined;
  const hash = createHash('sha256');
  for await (const chunk of file.stream) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

const NIL = '00000000-0000-0000-0000-000000000000';

const IMAGES = `
  SELECT organization_id, id, state->>'hash' AS hash FROM ${images.table}
  WHERE (organization_id, id) > ($1::uuid, $2::uuid) ORDER BY organization_id, id LIMIT $3`;

// Only for a file that does not match, so it needs no index.
const SHARING = `SELECT organization_id, id, state->>'hash' AS hash FROM ${images.table} WHERE state->>'hash' = $1`;

const DIGESTS = `
  SELECT e.data->>'imageId' AS id, e.data->'files' AS files
  FROM unnest($1::uuid[], $2::uuid[]) AS asked(organization_id, stream_id)
  JOIN events e ON e.organization_id = asked.organization_id AND e.stream_id = asked.stream_id AND e.version = 1
  WHERE e.type = 'ImageFilesStored'`;
