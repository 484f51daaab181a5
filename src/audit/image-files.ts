import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Sql } from '#libs/database';
import { linesOf, parseLine } from '#libs/verify';
import { fetchAnswer, NotAnswered } from './fetch-answer.js';
import { chunksOf } from './verify/verify.js';

/** `withoutDigests`: images whose digests the history does not contain. `wrong`: the first `MOST_WRONG`. */
export type ImageFilesVerdict = {
  images: number;
  files: number;
  withoutDigests: number;
  wrong: { imageId: string; file: string; isMissing: boolean }[];
  wrongCount: number;
};

/** An event about an image. The members of `data` depend on the type, and an attacker can have written anything. */
type ImageEvent = { type: string; streamId: string; data: { [member: string]: unknown } };

type Image = { hash: unknown; files: readonly { name?: unknown; sha256?: unknown }[] | undefined };

/** @returns the bytes; undefined if the file does not exist. @throws if it cannot be read. */
type ReadFile = (name: string) => Promise<Uint8Array | undefined>;

const TYPES = ['ImageUploaded', 'ImageFilesStored', 'ImageDeleted'];
const MOST_WRONG = 100;
const TIMEOUT_MS = 60_000;
/** Published files can be larger than the upload, which has at most 15 MiB. */
const MOST_BYTES = 150 * 1024 * 1024;
/** Any other name could lead out of the folder. */
const NAME = /^[0-9a-f]{64}\/\d{1,4}\.(webp|jpg|png)$/;

/** The events about images in an export that was verified, up to the position. */
export async function* imageEventsOfFile(file: string, upTo: number): AsyncGenerator<ImageEvent> {
  for await (const lines of linesOf(chunksOf(file))) {
    for (const text of lines) {
      if (!TYPES.some((type) => text.includes(`"type":"${type}"`))) continue;
      const line = parseLine(text);
      if (line.position <= upTo && TYPES.includes(line.type)) yield line as ImageEvent;
    }
  }
}

/** The events about images in a stored history that was verified, up to the position. */
export async function* imageEventsOfDatabase(
  sql: Sql,
  organizationId: string,
  upTo: number,
): AsyncGenerator<ImageEvent> {
  yield* await sql.query<ImageEvent[]>(
    `SELECT type, stream_id AS "streamId", data FROM events
     WHERE organization_id = $1 AND position <= $2 AND type = ANY ($3) ORDER BY position`,
    [organizationId, upTo, TYPES],
  );
}

/**
 * Compares the files of all images that these events did not delete with their digests.
 *
 * @param place a folder, or the address under which a server publishes the files.
 * @throws if files cannot be read.
 */
export async function compareImageFiles(
  events: AsyncIterable<ImageEvent>,
  place: string,
  signal: AbortSignal,
): Promise<ImageFilesVerdict> {
  const read = await openImageFiles(place, signal);
  const images = new Map<string, Image>();
  for await (const { type, streamId, data } of events) {
    if (type === 'ImageDeleted') images.delete(streamId);
    else if (type === 'ImageUploaded') images.set(streamId, { hash: data.hash, files: undefined });
    else if (typeof data.imageId === 'string' && Array.isArray(data.files)) {
      const image = images.get(data.imageId);
      if (image) image.files ??= data.files as NonNullable<Image['files']>;
    }
  }
  const verdict: ImageFilesVerdict = { images: 0, files: 0, withoutDigests: 0, wrong: [], wrongCount: 0 };
  for (const [imageId, { hash, files }] of images) {
    if (!files) {
      verdict.withoutDigests += 1;
      continue;
    }
    verdict.images += 1;
    for (const { name, sha256 } of files) {
      verdict.files += 1;
      const path = `${String(hash)}/${String(name)}`;
      const bytes = NAME.test(path) ? await read(path) : undefined;
      if (bytes && createHash('sha256').update(bytes).digest('hex') === sha256) continue;
      verdict.wrongCount += 1;
      if (verdict.wrong.length < MOST_WRONG) verdict.wrong.push({ imageId, file: path, isMissing: !bytes });
    }
  }
  return verdict;
}

async function openImageFiles(place: string, signal: AbortSignal): Promise<ReadFile> {
  if (!/^https?:/.test(place)) {
    // Without the folder, every file would be missing.
    await stat(place);
    return (name) =>
      readFile(join(place, name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw error;
      });
  }
  const bounds = { timeoutMs: TIMEOUT_MS, mostBytes: MOST_BYTES, signal };
  return async (name) => {
    const address = `${place.replace(/\/+$/, '')}/${name}`;
    const { status, body } = await fetchAnswer(address, {}, bounds);
    if (status === 404) return undefined;
    if (status !== 200) throw new NotAnswered(`${address} returned ${status}`);
    return body;
  };
}
