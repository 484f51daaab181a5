import { type Request, type Response } from 'express';
import { pipeline } from 'node:stream/promises';
import { compressorFor } from './compression.js';
import { whileAllowed } from './access-checks.js';

/** A response of any length, sent as it is produced and only as fast as the client reads. */
export class StreamedAnswer {
  /**
   * @param fileName the name of the download. Browsers must never show user content as one of our pages.
   * @param chunks ended early with `return` if the client disconnects.
   */
  constructor(
    readonly contentType: string,
    readonly fileName: string,
    readonly chunks: AsyncIterable<string | Uint8Array>,
  ) {}

  /** The same response, aborted once its caller has lost access. @param require throws in that case. */
  while(require: (() => Promise<void>) | undefined): StreamedAnswer {
    if (!require) return this;
    return new StreamedAnswer(this.contentType, this.fileName, whileAllowed(this.chunks, require));
  }
}

/**
 * Sends a streamed response. Resolves when it is sent, or when the client has disconnected.
 *
 * @throws the errors of the chunks. Before the first chunk, an error response is still possible. Afterwards,
 *   the connection is closed, because only that tells the client that the response is incomplete.
 */
export async function sendStream(
  { contentType, fileName, chunks }: StreamedAnswer,
  request: Request,
  response: Response,
): Promise<void> {
  const iterator = chunks[Symbol.asyncIterator]();
  let failed = false;
  const nextChunk = async () => {
    try {
      return await iterator.next();
    } catch (error) {
      failed = true;
      throw error;
    }
  };
  async function* from(first: IteratorResult<string | Uint8Array>) {
    for (let next = first; !next.done; next = await nextChunk()) yield next.value;
  }
  try {
    const first = await nextChunk();
    if (request.isGivenUp) return;
    const compressor = compressorFor(response);
    // Not `response.type()`, which would set the charset.
    response.setHeader('Content-Type', contentType);
    response.setHeader('Content-Disposition', `attachment; filename="${fileName}"`);
    if (first.done || request.method === 'HEAD') response.end();
    // If the client had already disconnected, pipeline() would wait forever.
    else if (response.destroyed) return;
    else if (compressor) await pipeline(from(first), compressor, response);
    else await pipeline(from(first), response);
  } catch (error) {
    // Otherwise, the client has disconnected.
    if (failed) throw error;
  } finally {
    await iterator.return?.();
  }
}
