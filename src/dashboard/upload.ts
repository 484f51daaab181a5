import busboy from 'busboy';
import { type Request } from 'express';
import { type Readable } from 'node:stream';
import { invalid } from '#libs/rpc';

/** A file as a form brings it: what its part says of it, and its bytes, to be read once. */
export type Upload = { name: string; mediaType: string; bytes: AsyncIterable<Uint8Array> };

/** More than the fields of our forms ever hold. */
const LIMITS = { files: 1, fields: 50, fieldSize: 64 * 1024 };

/**
 * Reads a form up to its file: fields stand before it, as the browser sends them in the order of the page.
 *
 * @throws RpcError BAD_REQUEST where it is no form of this kind, or ends in the middle; so do the bytes of the file.
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
      // Of whoever has chosen none, browsers send a nameless one.
      if (!filename) {
        bytes.resume();
        return;
      }
      current = bytes;
      // It may break before anybody reads it; whoever does hears of it then.
      bytes.on('error', () => undefined);
      resolve({ fields, file: { name: filename, mediaType: mimeType, bytes: wholeOf(bytes) } });
    });
    form.on('close', () => resolve({ fields, file: undefined }));
    // Who reads the file hears of it there; once it has come to an end, it means nothing any more.
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
