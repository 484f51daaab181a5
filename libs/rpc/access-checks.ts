/**
 * The time between two checks. Authentication caches its result for half a second, so together they take less
 * than a second.
 */
const CHECK_MS = 250;

/** Limits how often the check runs, however often it is called. @param require throws if the caller has lost access. */
export function nowAndThen(require: () => Promise<void>): () => Promise<void> {
  let checkedAt = performance.now();
  return async () => {
    if (performance.now() - checkedAt < CHECK_MS) return;
    await require();
    checkedAt = performance.now();
  };
}

/** The chunks of a stream, in or out, while its caller may read or write them. */
export async function* whileAllowed<Chunk>(
  chunks: AsyncIterable<Chunk>,
  require: () => Promise<void>,
): AsyncGenerator<Chunk> {
  const check = nowAndThen(require);
  for await (const chunk of chunks) {
    await check();
    yield chunk;
  }
}
