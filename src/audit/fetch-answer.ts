/** No response, or an invalid one. The message gives the reason. A retry may succeed. */
export class NotAnswered extends Error {}

export type HttpAnswer = { status: number; headers: Headers; body: Buffer };

/** The time limit for the whole response, its size limit, and what aborts it. */
export type Bounds = { timeoutMs: number; mostBytes: number; signal: AbortSignal | undefined };

/** Sends a request to a server that is not trusted. @throws NotAnswered, or the signal's reason. */
export async function fetchAnswer(
  address: string,
  request: Pick<RequestInit, 'method' | 'headers' | 'body'>,
  { timeoutMs, mostBytes, signal }: Bounds,
): Promise<HttpAnswer> {
  const patience = AbortSignal.timeout(timeoutMs);
  try {
    // A redirect would send the request elsewhere.
    const response = await fetch(address, {
      ...request,
      signal: signal ? AbortSignal.any([signal, patience]) : patience,
      redirect: 'error',
    });
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      size += part.length;
      if (size > mostBytes) throw new NotAnswered(`the response of ${address} is too large`);
      parts.push(part);
    }
    return { status: response.status, headers: response.headers, body: Buffer.concat(parts) };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof NotAnswered) throw error;
    const { message, cause } = error as Error;
    const why = patience.aborted ? 'no response in time' : cause instanceof Error ? cause.message : message;
    throw new NotAnswered(`${address} cannot be reached: ${why}`);
  }
}
