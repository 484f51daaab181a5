import { Injectable } from '@nestjs/common';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { DataSource } from 'typeorm';
import { openBytes, sealBytes } from '#libs/event-store';
import { invalid, type RpcError } from '#libs/rpc';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** Bytes of a stored chunk, before compression. */
const CHUNK = 512 * 1_024;
/** Chunks per query. */
const TOGETHER = 4;
/** Seconds after which an upload without further bytes is deleted. */
const UPLOAD_SECONDS = 600;

/** The tables that contain parts of an import, by number. */
type PartsTable = 'contact_import_chunks' | 'contact_import_pages';

/** An import, with the key of all that is stored of it. */
export type ImportKey = { organizationId: string; id: string; key: Buffer };

/** Stored files of imports, and the outcomes of their rows: encrypted, and read and written in bounded memory. */
@Injectable()
export class ImportFiles {
  constructor(private readonly source: DataSource) {}

  /**
   * Stores a file as it arrives.
   *
   * @param see called with each chunk before it is stored; may throw.
   * @returns its size in bytes. @throws RpcError BAD_REQUEST if it arrives too slowly.
   */
  async write(
    stored: ImportKey,
    bytes: AsyncIterable<Uint8Array>,
    see: (chunk: Uint8Array) => Promise<void> | void,
  ): Promise<number> {
    let held: Uint8Array[] = [];
    let size = 0;
    let total = 0;
    let number = 0;
    const store = async () => {
      const sealed = await seal(stored, number, Buffer.concat(held));
      const rows = await this.source.query<unknown[]>(
        `WITH uploading AS (
           UPDATE contact_imports SET lease_expires_at = clock_timestamp() + make_interval(secs => $5)
           WHERE organization_id = $1 AND id = $2 RETURNING id)
         INSERT INTO contact_import_chunks (import_id, number, sealed) SELECT id, $3, $4 FROM uploading RETURNING number`,
        [stored.organizationId, stored.id, number, sealed, UPLOAD_SECONDS],
      );
      if (rows.length === 0) throw tooSlow();
      number += 1;
      held = [];
      size = 0;
    };
    for await (const chunk of bytes) {
      await see(chunk);
      for (let at = 0; at < chunk.length; at += CHUNK) {
        const part = chunk.subarray(at, at + CHUNK);
        held.push(part);
        size += part.length;
        total += part.length;
        if (size >= CHUNK) await store();
      }
    }
    if (size > 0) await store();
    return total;
  }

  /** @param isCompressed false for files stored by earlier versions. */
  async *read({ id, key }: ImportKey, isCompressed: boolean): AsyncGenerator<Uint8Array> {
    for await (const { number, sealed } of this.parts('contact_import_chunks', id)) {
      const opened = openBytes(key, sealed, nameOf(id, number));
      yield isCompressed ? await inflate(opened) : opened;
    }
  }

  async *pages<Page>({ id, key }: ImportKey): AsyncGenerator<Page> {
    for await (const { number, sealed } of this.parts('contact_import_pages', id)) {
      const opened = await inflate(openBytes(key, sealed, `${id} page ${number}`));
      yield JSON.parse(opened.toString('utf8')) as Page;
    }
  }

  /** A page as it is stored. */
  async sealPage({ id, key }: ImportKey, number: number, page: object): Promise<Buffer> {
    return sealBytes(key, await deflate(Buffer.from(JSON.stringify(page)), FAST), `${id} page ${number}`);
  }

  private async *parts(table: PartsTable, id: string): AsyncGenerator<{ number: number; sealed: Buffer }> {
    for (let next = 0; ;) {
      const rows = await this.source.query<{ number: number; sealed: Buffer }[]>(
        `SELECT number, sealed FROM ${table} WHERE import_id = $1 AND number >= $2 ORDER BY number LIMIT ${TOGETHER}`,
        [id, next],
      );
      yield* rows;
      if (rows.length < TOGETHER) return;
      next = rows.at(-1)!.number + 1;
    }
  }
}

/** For an upload that was deleted because its bytes arrived too slowly. */
export function tooSlow(): RpcError {
  const message = 'arrived too slowly: send it again, or in smaller parts';
  return invalid([{ path: 'file', message }]);
}

/** The strongest compression would take longer than the import. */
const FAST = { level: 1 };

async function seal({ id, key }: ImportKey, number: number, bytes: Buffer): Promise<Buffer> {
  return sealBytes(key, await deflate(bytes, FAST), nameOf(id, number));
}

/** As earlier versions name them. */
function nameOf(id: string, number: number): string {
  return `${id} ${number}`;
}
