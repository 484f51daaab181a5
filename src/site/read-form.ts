import { type Request } from 'express';

/** Bytes of a form: a comment of 10,000 characters, each written as nine, and all else. */
const LARGEST_FORM = 128 * 1_024;
/** What is longer still is not even read to its end. */
const LARGEST_READ = 1_024 * 1_024;

export type FormError = 'too large' | 'no form' | 'gone';

/** A form as browsers send it. The whole body is read, whatever it is: an answer before its end would be lost on its way. */
export async function readForm(request: Request): Promise<URLSearchParams | FormError> {
  const isForm = /^\s*application\/x-www-form-urlencoded\s*(;|$)/i.test(
    request.headers['content-type'] ?? '',
  );
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes <= LARGEST_FORM) chunks.push(chunk);
      if (bytes > LARGEST_READ) break;
    }
  } catch {
    return 'gone';
  }
  if (bytes > LARGEST_FORM) return 'too large';
  return isForm ? new URLSearchParams(Buffer.concat(chunks).toString('utf8')) : 'no form';
}
