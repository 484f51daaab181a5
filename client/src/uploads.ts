import { type UploadBody } from './types.js';

const NDJSON = 'application/x-ndjson';

/** The body of a request, and its type unless the caller names another. */
export async function uploadOf(
  file: UploadBody,
  accepted: readonly string[],
  onProgress: ((bytes: number) => void) | undefined,
): Promise<{ body: string | Uint8Array | Blob | ReadableStream<Uint8Array>; type: string }> {
  const preset = accepted.find((type) => type !== NDJSON)!;
  if (typeof file === 'string' || file instanceof Uint8Array) return { body: file, type: preset };
  if (file instanceof Blob) return { body: file, type: accepted.includes(file.type) ? file.type : preset };
  if (Array.isArray(file))
    return { body: file.map((row) => `${JSON.stringify(row)}\n`).join(''), type: NDJSON };
  const parts = file instanceof ReadableStream ? chunksOf(file) : iteratorOf(file);
  const first = await parts.next();
  const isFile = first.value instanceof Uint8Array || typeof first.value === 'string';
  let sent = 0;
  let next: IteratorResult<unknown> | undefined = first;
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const part: IteratorResult<unknown, unknown> = next ?? (await parts.next());
      next = undefined;
      if (part.done) return controller.close();
      const { value } = part;
      const text = typeof value === 'string' ? value : `${JSON.stringify(value)}\n`;
      const bytes = value instanceof Uint8Array ? value : encoder.encode(text);
      controller.enqueue(bytes);
      sent += bytes.length;
      onProgress?.(sent);
    },
    async cancel() {
      await parts.return?.();
    },
  });
  return { body, type: isFile || first.done ? preset : NDJSON };
}

function iteratorOf(
  parts: Iterable<unknown> | AsyncIterable<unknown>,
): AsyncIterator<unknown> | Iterator<unknown> {
  return Symbol.asyncIterator in parts ? parts[Symbol.asyncIterator]() : parts[Symbol.iterator]();
}

/** Browsers cannot iterate over streams. */
async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
