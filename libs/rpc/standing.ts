/** Between two checks. The authentication remembers its answer for half a second: together that is less than a second. */
const CHECK_MS = 250;

/** Checks now and then, however often it is asked. @param require throws once the caller may not. */
export function nowAndThen(require: () => Promise<void>): () => Promise<void> {
  let checkedAt = performance.now();
  return async () => {
    if (performance.now() - checkedAt < CHECK_MS) return;
    await require();
    checkedAt = performance.now();
  };
}

/** The chunks of a stream, in or out, for as long as its caller may read or write them. */
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
