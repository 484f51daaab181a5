import { type Request } from 'express';

/** Maximum bytes of a form: a comment of 10,000 characters, each encoded as nine bytes, and the other fields. */
const MAX_FORM_BYTES = 128 * 1_024;
/** Longer bodies are not read to the end. */
const MAX_READ_BYTES = 1_024 * 1_024;

export type FormError = 'too large' | 'no form' | 'gone';

/** Reads a form. Reads the whole body even if it is invalid, because a response before its end could be lost. */
export async function readForm(request: Request): Promise<URLSearchParams | FormError> {
  const isForm = /^\s*application\/x-www-form-urlencoded\s*(;|$)/i.test(
    request.headers['content-type'] ?? '',
  );
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes <= MAX_FORM_BYTES) chunks.push(chunk);
      if (bytes > MAX_READ_BYTES) break;
    }
  } catch {
    return 'gone';
  }
  if (bytes > MAX_FORM_BYTES) return 'too large';
  return isForm ? new URLSearchParams(Buffer.concat(chunks).toString('utf8')) : 'no form';
}
