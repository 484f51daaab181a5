import busboy from 'busboy';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { invalid, parseInput, RpcError, type StreamedInput } from '#libs/rpc';
import { MOST_MEBIBYTES } from './image-limits.js';
import { ImageTextsInput } from './image-texts.js';

const LARGEST_FILE = MOST_MEBIBYTES * 1024 * 1024;
/** The bytes around a file in a form. */
export const LARGEST_FORM = LARGEST_FILE + 64 * 1024;
export const FORM_TYPE = 'multipart/form-data';
const LONGEST_FIELD = 8 * 1024;
const MOST_FIELDS = 10;
/** The errors of busboy for an invalid or incomplete form. */
const BROKEN = /unexpected end of (form|file)|malformed part header/i;

/** `hash`: SHA-256 of the bytes, in hexadecimal. */
export type ReceivedFile = ImageTextsInput & { hash: string };

/**
 * Writes the file of a request to `path`. The file is the body or a part of a form.
 *
 * @throws RpcError BAD_REQUEST or PAYLOAD_TOO_LARGE, and the errors of reading the body.
 */
export async function receiveFile(
  { mediaType, contentType, bytes }: StreamedInput,
  path: string,
): Promise<ReceivedFile> {
  return mediaType === FORM_TYPE ? receiveForm(contentType, bytes, path) : keep(Readable.from(bytes), path);
}

async function receiveForm(
  contentType: string,
  bytes: AsyncIterable<Uint8Array>,
  path: string,
): Promise<ReceivedFile> {
  let form: busboy.Busboy;
  try {
    form = busboy({
      headers: { 'content-type': contentType },
      defParamCharset: 'utf8',
      // One more than allowed, so that it is noticed.
      limits: { files: 2, fields: MOST_FIELDS, fieldSize: LONGEST_FIELD, fileSize: LARGEST_FILE + 1 },
    });
  } catch {
    throw malformed();
  }
  const fields: Record<string, string> = {};
  const files: Promise<ReceivedFile>[] = [];
  let problem: RpcError | undefined;
  form.on('field', (name, value) => {
    if (Object.hasOwn(fields, name)) problem ??= invalid([{ path: name, message: 'must occur only once' }]);
    fields[name] = value;
  });
  form.on('file', (_field, file, { filename }) => {
    if (files.length > 0) {
      problem ??= invalid([{ path: '', message: 'contains more than one file: send one at a time' }]);
      file.resume();
      return;
    }
    const kept = keep(file, path).then((one) => ({ ...one, ...namedBy(filename) }));
    // Reading stops then; the cause is checked below.
    kept.catch((error: Error) => form.destroy(error));
    files.push(kept);
  });
  try {
    await pipeline(Readable.from(bytes), form);
  } catch (error) {
    const failed: unknown = await files[0]?.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (failed instanceof RpcError) throw failed;
    throw error instanceof Error && BROKEN.test(error.message) ? malformed() : error;
  }
  if (problem) throw problem;
  const [file] = files;
  if (!file) throw invalid([{ path: '', message: 'contains no file: send one image' }]);
  const received = await file;
  return { ...received, ...parseInput(ImageTextsInput, fields, 'query') };
}

async function keep(file: Readable, path: string): Promise<{ hash: string }> {
  const hash = createHash('sha256');
  let size = 0;
  const look = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      hash.update(chunk);
      done(size > LARGEST_FILE ? tooLarge() : null, chunk);
    },
  });
  await pipeline(file, look, createWriteStream(path));
  return { hash: hash.digest('hex') };
}

/** The last part of the file's original path, if it is a valid name here. */
function namedBy(filename: string | undefined): { name?: string } {
  const name = filename?.split(/[/\\]/).at(-1)?.trim() ?? '';
  if (name === '') return {};
  try {
    return { name: parseInput(ImageTextsInput, { name }, 'query').name! };
  } catch {
    return {};
  }
}

function tooLarge(): RpcError {
  return new RpcError(
    'PAYLOAD_TOO_LARGE',
    `The image is larger than ${MOST_MEBIBYTES} MiB. Send a smaller one.`,
  );
}

function malformed(): RpcError {
  return invalid([{ path: '', message: 'is an incomplete form: send multipart/form-data with one file' }]);
}
