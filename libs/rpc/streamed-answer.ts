import { type Request, type Response } from 'express';
import { pipeline } from 'node:stream/promises';
import { whileAllowed } from './standing.js';

/** An answer of any length, sent as it is made and only as fast as the client reads. */
export class StreamedAnswer {
  /**
   * @param fileName under which a browser keeps it: it never shows what others wrote as a page of ours.
   * @param chunks ended early, by its `return`, when the client goes away.
   */
  constructor(
    readonly contentType: string,
    readonly fileName: string,
    readonly chunks: AsyncIterable<string | Uint8Array>,
  ) {}

  /** The same, cut off once its caller may not read it any more. @param require throws then. */
  while(require: (() => Promise<void>) | undefined): StreamedAnswer {
    if (!require) return this;
    return new StreamedAnswer(this.contentType, this.fileName, whileAllowed(this.chunks, require));
  }
}

/**
 * Sends a streamed answer. Resolves when it is sent, or when the client has gone away.
 *
 * @throws what the chunks throw. Before the first chunk an error can still be answered; after it the
 *   connection is cut, because only that tells the client that the answer is not whole.
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
    // Not response.type(), which would choose the charset.
    response.setHeader('Content-Type', contentType);
    response.setHeader('Content-Disposition', `attachment; filename="${fileName}"`);
    if (first.done || request.method === 'HEAD') response.end();
    // Of a client that went away meanwhile, pipeline() would wait to hear.
    else if (!response.destroyed) await pipeline(from(first), response);
  } catch (error) {
    // Else it is the client who went away.
    if (failed) throw error;
  } finally {
    await iterator.return?.();
  }
}
