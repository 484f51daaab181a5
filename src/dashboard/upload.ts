import busboy from 'busboy';
import { type Request } from 'express';
import { type Readable } from 'node:stream';
import { invalid } from '#libs/rpc';

export type Upload = { name: string; mediaType: string; bytes: AsyncIterable<Uint8Array> };

/** More than any of our forms needs. */
const LIMITS = { files: 1, fields: 50, fieldSize: 64 * 1024 };

/**
 * Reads a form up to its file. Browsers send fields in page order, so the fields come first.
 *
 * @throws RpcError BAD_REQUEST if the form is not multipart or is incomplete. Reading the file's bytes throws the same.
 */
export function readUpload(request: Request): Promise<{ fields: URLSearchParams; file: Upload | undefined }> {
  return new Promise((resolve, reject) => {
    const fields = new URLSearchParams();
    let form: busboy.Busboy;
    try {
      form = busboy({ headers: request.headers, defParamCharset: 'utf8', limits: LIMITS });
    } catch {
      return reject(broken());
    }
    let current: Readable | undefined;
    form.on('field', (name, value) => fields.append(name, value));
    form.on('file', (_field, bytes, { filename, mimeType }) => {
      // If no file was chosen, browsers send one without a name.
      if (!filename) {
        bytes.resume();
        return;
      }
      current = bytes;
      // Ignores an error before the file is read. The reader gets it later.
      bytes.on('error', () => undefined);
      resolve({ fields, file: { name: filename, mediaType: mimeType, bytes: wholeOf(bytes) } });
    });
    form.on('close', () => resolve({ fields, file: undefined }));
    // The reader of the file gets the error. After the end of the file, destroying has no effect.
    const fail = () => {
      reject(broken());
      current?.destroy(broken());
    };
    form.on('error', fail);
    request.on('error', fail).on('close', () => {
      if (!request.complete) fail();
    });
    request.pipe(form);
  });
}

async function* wholeOf(bytes: Readable): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of bytes) yield chunk as Uint8Array;
  } catch {
    throw broken();
  }
}

function broken() {
  return invalid([{ path: '', message: 'is an incomplete form. Send it again' }]);
}
