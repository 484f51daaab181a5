import { Injectable } from '@nestjs/common';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { inTransaction } from '#libs/database';
import { RpcError } from '#libs/rpc';
import { Storage, StorageUnreachable } from '#libs/storage';
import { type Variant } from './image.js';

/** The longest time between the first file of an upload and its event. Slower uploads start again. */
const UPLOAD_SECONDS = 240;
/** After this time, an upload is considered dead. */
const GRACE_SECONDS = 60;
/** A removal that took longer has died; a failed one is marked with a time in the distant past. */
const IS_LEFT = `removing_since < clock_timestamp() - interval '10 minutes'`;
/** How long an upload of the same bytes waits while their files are removed. */
const REMOVAL_PATIENCE_MS = 5_000;
const MOST_AT_ONCE = 100;

/** Records that an image of an organization uses the files of this hash. */
export type Use = { organizationId: string; imageId: string; hash: string };

/**
 * The files of images, stored once for all images with the same content. A row records each use: it is added
 * before the files are stored, and deleted with the image. The process that deletes the last row removes the files.
 * Until that is done, no new use can begin, so no existing image loses its files.
 */
@Injectable()
export class ImageFiles {
  constructor(
    private readonly source: DataSource,
    private readonly storage: Storage,
  ) {}

  /**
   * Stores the files of an image that is about to be created. Call `keep` once it exists.
   *
   * @param directory that contains the files.
   * @returns a function to call before the image is created. It throws if that is too late.
   * @throws RpcError SERVICE_UNAVAILABLE if the store is unreachable, or the same files are being removed.
   */
  async put(
    { organizationId, imageId, hash }: Use,
    directory: string,
    variants: readonly Variant[],
  ): Promise<() => void> {
    const patience = performance.now() + REMOVAL_PATIENCE_MS;
    while (!(await this.use({ organizationId, imageId, hash }))) {
      if (performance.now() > patience) throw unavailable('The files of this image are being removed.');
      await sleep(100);
    }
    const begun = performance.now();
    for (const { name, type } of variants) {
      const bytes = await readFile(join(directory, name));
      await inStore(() => this.storage.put(`${hash}/${name}`, bytes, type));
    }
    return () => {
      if (performance.now() - begun > UPLOAD_SECONDS * 1_000)
        throw unavailable('The image storage took too long to respond.');
    };
  }

  /** @returns false while the files are being removed. */
  private async use({ organizationId, imageId, hash }: Use): Promise<boolean> {
    const used = await this.source.query<unknown[]>(
      `WITH file AS (
         INSERT INTO image_files (hash) VALUES ($1)
         ON CONFLICT (hash) DO UPDATE SET hash = excluded.hash RETURNING removing_since
       )
       INSERT INTO image_uses (organization_id, image_id, hash, until)
       SELECT $2::uuid, $3::uuid, $1, clock_timestamp() + make_interval(secs => $4::float8)
       FROM file WHERE removing_since IS NULL RETURNING 1`,
      [hash, organizationId, imageId, UPLOAD_SECONDS + GRACE_SECONDS],
    );
    return used.length > 0;
  }

  /** The image exists. */
  async keep({ organizationId, imageId }: Omit<Use, 'hash'>): Promise<void> {
    await this.source.query(
      'UPDATE image_uses SET until = NULL WHERE organization_id = $1 AND image_id = $2',
      [organizationId, imageId],
    );
  }

  /** The image does not exist or was deleted. Removes files that are no longer used. @throws StorageUnreachable */
  async release({ organizationId, imageId, hash }: Use): Promise<void> {
    const isUnused = await inTransaction(this.source, {}, async (transaction) => {
      // A new user of the files waits here, or is detected below.
      await transaction.query('SELECT FROM image_files WHERE hash = $1 FOR UPDATE', [hash]);
      await transaction.query('DELETE FROM image_uses WHERE organization_id = $1 AND image_id = $2', [
        organizationId,
        imageId,
      ]);
      const [, marked] = await transaction.query<[unknown, number]>(
        `UPDATE image_files SET removing_since = clock_timestamp()
         WHERE hash = $1 AND (removing_since IS NULL OR ${IS_LEFT})
           AND NOT EXISTS (SELECT FROM image_uses WHERE hash = $1)`,
        [hash],
      );
      return marked > 0;
    });
    if (isUnused) await this.remove(hash);
  }

  /** Uploads that never finished. The history shows whether their images exist. */
  unsettled(): Promise<Use[]> {
    return this.source.query<Use[]>(
      `SELECT organization_id AS "organizationId", image_id AS "imageId", hash FROM image_uses
       WHERE until < clock_timestamp() ORDER BY until LIMIT ${MOST_AT_ONCE}`,
    );
  }

  /** Resumes removals that failed, or whose process died. @throws StorageUnreachable */
  async goOnRemoving(): Promise<void> {
    for (let n = 0; n < MOST_AT_ONCE; n += 1) {
      const [[taken]] = await this.source.query<[{ hash: string }[], number]>(
        `UPDATE image_files SET removing_since = clock_timestamp()
         WHERE hash = (SELECT hash FROM image_files WHERE ${IS_LEFT} LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING hash`,
      );
      if (!taken) return;
      await this.remove(taken.hash);
    }
  }

  /** Only the process that marked the files removes them: a late removal would delete the files of the next image. */
  private async remove(hash: string): Promise<void> {
    try {
      await this.storage.removeFolder(hash);
    } catch (error) {
      await this.source.query(`UPDATE image_files SET removing_since = '-infinity' WHERE hash = $1`, [hash]);
      throw error;
    }
    await this.source.query('DELETE FROM image_files WHERE hash = $1', [hash]);
  }
}

/** @throws RpcError SERVICE_UNAVAILABLE if the store is unreachable. */
export async function inStore<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StorageUnreachable) throw unavailable('The image storage cannot be reached.', error);
    throw error;
  }
}

function unavailable(what: string, cause?: Error): RpcError {
  return new RpcError(
    'SERVICE_UNAVAILABLE',
    `${what} Try again in a moment.`,
    { reason: 'STORAGE_UNREACHABLE', headers: { 'Retry-After': '5' } },
    { cause },
  );
}
