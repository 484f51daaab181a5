/** No response, or an invalid one. The message gives the reason. A retry may succeed. */
export class NotAnswered extends Error {}

type Request = Pick<RequestInit, 'method' | 'headers' | 'body'>;
export type HttpAnswer = { status: number; headers: Headers; body: Buffer };

/** The time limit for the whole response, its size limit, and what aborts it. */
export type Bounds = { timeoutMs: number; mostBytes: number; signal: AbortSignal | undefined };

/** Sends a request to a server that is not trusted. @throws NotAnswered, or the signal's reason. */
export async function fetchAnswer(
  address: string,
  request: Request,
  { mostBytes, ...bounds }: Bounds,
): Promise<HttpAnswer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  let answer: Omit<HttpAnswer, 'body'> | undefined;
  for await (const part of fetchChunks(address, request, bounds, (opened) => (answer = opened))) {
    parts.push(part);
    size += part.length;
    if (size > mostBytes) throw new NotAnswered(`the response of ${address} is too large`);
  }
  return { ...answer!, body: Buffer.concat(parts) };
}

/**
 * Streams the body of a response.
 *
 * @param onOpen is called with its status and headers.
 * @throws NotAnswered, or the signal's reason.
 */
export async function* fetchChunks(
  address: string,
  request: Request,
  { timeoutMs, signal }: Omit<Bounds, 'mostBytes'>,
  onOpen: (answer: Omit<HttpAnswer, 'body'>) => void,
): AsyncGenerator<Uint8Array> {
  const patience = AbortSignal.timeout(timeoutMs);
  try {
    // A redirect would send the request elsewhere.
    const response = await fetch(address, {
      ...request,
      signal: signal ? AbortSignal.any([signal, patience]) : patience,
      redirect: 'error',
    });
    onOpen({ status: response.status, headers: response.headers });
    yield* (response.body ?? []) as AsyncIterable<Uint8Array>;
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof NotAnswered) throw error;
    const { message, cause } = error as Error;
    const why = patience.aborted ? 'no response in time' : cause instanceof Error ? cause.message : message;
    throw new NotAnswered(`${address} cannot be reached: ${why}`);
  }
}
