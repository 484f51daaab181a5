import { type Request } from 'express';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type Transform } from 'node:stream';
import zlib from 'node:zlib';

/**
 * Shorter responses fit into a packet as they are.
 *
 * Only responses that contain no secret of a browser's user are compressed, because their length could reveal it (BREACH). These are
 * responses of the API, whose keys browsers do not send by themselves, and files and pages that are the same for everyone.
 */
const SHORTEST = 1024;

/**
 * 10 KiB of contacts as JSON take gzip 0.06 ms and brotli 0.6 ms, and become 13 and 12 %. So brotli is only preferred for what is compressed
 * once.
 */
const LIVE = ['gzip', 'br'] as const;
const ONCE = ['br', 'gzip'] as const;
type Encoding = (typeof ONCE)[number];

const { constants } = zlib;
/** The strongest quality that is about as fast as gzip for long texts. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
/** For what is compressed once: the dashboard's editor then has 95 KiB in 40 ms. With 4, it has 102 KiB, more than with gzip. */
const STRONG = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } };

/** Accepted encodings by header. Clients only send a few different ones. */
const accepted = new Map<string, readonly Encoding[]>();
const MOST_HEADERS = 100;
const LONGEST_HEADER = 200;

function encodingFor(request: IncomingMessage, preferred: readonly Encoding[]): Encoding | undefined {
  const header = request.headers['accept-encoding'];
  if (header === undefined || header.length > LONGEST_HEADER) return undefined;
  let known = accepted.get(header);
  if (!known) {
    if (accepted.size >= MOST_HEADERS) accepted.clear();
    known = ONCE.filter((encoding) => (request as Request).acceptsEncodings(encoding));
    accepted.set(header, known);
  }
  return preferred.find((encoding) => known.includes(encoding));
}

/** Ends a response with a text, compressed if that is worth it. Its other headers must be set. */
export function endWith(response: ServerResponse, text: string): void {
  const encoding = text.length < SHORTEST ? undefined : negotiate(response);
  if (!encoding) {
    response.setHeader('Content-Length', Buffer.byteLength(text));
    // As a string, so that head and body are written together.
    response.end(text);
    return;
  }
  const send = (error: Error | null, compressed: Buffer): void => {
    // The deadline may have passed in the meantime.
    if (response.headersSent) return;
    if (error) response.removeHeader('Content-Encoding');
    const body = error ? Buffer.from(text) : compressed;
    response.setHeader('Content-Length', body.length);
    response.end(body);
  };
  if (encoding === 'br') zlib.brotliCompress(text, BROTLI, send);
  else zlib.gzip(text, send);
}

/** Sets the headers of a response that may be compressed. @returns its encoding; undefined if it stays as it is. */
function negotiate(response: ServerResponse): Encoding | undefined {
  const encoding = encodingFor(response.req, LIVE);
  const varies = response.getHeader('Vary');
  response.setHeader('Vary', varies === undefined ? 'Accept-Encoding' : `${String(varies)}, Accept-Encoding`);
  if (encoding) response.setHeader('Content-Encoding', encoding);
  return encoding;
}

/**
 * Sets the headers of a streamed response.
 *
 * @returns what compresses it; undefined if it stays as it is. It passes on each chunk as soon as it was written.
 */
export function compressorFor(response: ServerResponse): Transform | undefined {
  const encoding = negotiate(response);
  if (encoding === 'br')
    return zlib.createBrotliCompress({ ...BROTLI, flush: constants.BROTLI_OPERATION_FLUSH });
  return encoding && zlib.createGzip({ flush: constants.Z_SYNC_FLUSH });
}

/** The compressed forms of bytes that many clients get. */
const files = new WeakMap<Buffer, Partial<Record<Encoding, Buffer>>>();

/**
 * Bytes that are the same for everyone, in the form that the client accepts. They are compressed once for each buffer.
 *
 * @param headers of the response. `Content-Length` is replaced.
 */
export function shared(
  request: IncomingMessage,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): { headers: Readonly<Record<string, string>>; body: Buffer } {
  if (body.length < SHORTEST) return { headers, body };
  const encoding = encodingFor(request, ONCE);
  const { Vary: varies } = headers;
  const all = { ...headers, Vary: varies === undefined ? 'Accept-Encoding' : `${varies}, Accept-Encoding` };
  if (!encoding) return { headers: all, body };
  const forms = files.get(body) ?? {};
  files.set(body, forms);
  const compressed = (forms[encoding] ??=
    encoding === 'br' ? zlib.brotliCompressSync(body, STRONG) : zlib.gzipSync(body));
  const length = String(compressed.length);
  return { headers: { ...all, 'Content-Encoding': encoding, 'Content-Length': length }, body: compressed };
}
