import express, { type Request, type Response } from 'express';
import { isUtf8 } from 'node:buffer';
import { type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { FairGate, TooManyWaiting } from '#libs/database';
import { RpcError } from './errors.js';
import { type StreamedBody } from './input.js';

/** 1 MiB. */
const LARGEST_BODY = 1024 * 1024;

/** Up to this size, bodies are parsed immediately. */
const SMALL_BODY = 64 * 1024;
/**
 * Maximum member names in a larger body. Parsing 1 MiB takes 150 ms with 100,000 different names, and 18 ms
 * with numbers. A valid `content` has fewer names, and so has the largest report of a mail provider (768 KiB, 8
 * names in 300 bytes).
 */
const MOST_NAMES = 30_000;
/** After parsing a large body, the pause before the next is this many times as long. */
const REST = 3;
/** Larger bodies are parsed one at a time, in turn for each sender. Each sender can have 16 MiB waiting. */
const largeBodies = new FairGate({ atOnce: 1, ofOneGroup: 1, waiting: 16 });
const LONGEST_WAIT_MS = 5_000;

const JSON_TYPE = /^\s*application\/json\s*(;|$)/i;
/** The types of .xls and .xlsx files. */
const EXCEL = /excel|spreadsheet/;
/** RFC 8259, section 8.1: systems exchange JSON in UTF-8. The parser would accept any `utf-…`. */
const OTHER_CHARSET = /;\s*charset\s*=(?!\s*"?utf-8"?\s*(;|$))/i;
const NOT_UTF8 = 'body.not-utf8';

const read = express.raw({ limit: LARGEST_BODY, type: () => true });

/**
 * Reads the JSON body of a request. It is read only now, so that unauthenticated and rate-limited requests get
 * their response before their bodies cost anything.
 *
 * @param types accepted media types.
 * @throws RpcError UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE or BAD_REQUEST.
 */
export async function readJsonBody(
  request: Request,
  response: Response,
  types: RegExp = JSON_TYPE,
): Promise<unknown> {
  if (!hasBody(request)) {
    throw new RpcError('BAD_REQUEST', 'The request has no body: send a JSON object.', {
      issues: [{ path: '', message: 'is missing: send a JSON object' }],
    });
  }
  const type = request.headers['content-type'] ?? '';
  if (!types.test(type) || OTHER_CHARSET.test(type)) {
    throw new RpcError(
      'UNSUPPORTED_MEDIA_TYPE',
      'Send the body as JSON in UTF-8, with Content-Type: application/json.',
    );
  }
  if (Number(request.headers['content-length'] ?? 0) > LARGEST_BODY) throw tooLarge();
  await new Promise<void>((resolve, reject) => {
    // The parser reports this only when the whole body has arrived, which may be never.
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > LARGEST_BODY) reject(tooLarge());
    });
    read(request, response, (error?: unknown) => (error ? reject(bodyError(error)) : resolve()));
  });
  const bytes = request.body as Buffer;
  if (bytes.length <= SMALL_BODY) return parse(bytes);
  return parseInTurn(bytes, request.caller?.organizationId ?? request.ip ?? 'unknown');
}

/** @throws RpcError BAD_REQUEST or PAYLOAD_TOO_LARGE */
function parse(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  // Decoding would replace broken bytes with U+FFFD and store text that no one sent.
  if (!isUtf8(bytes)) throw bodyError({ type: NOT_UTF8 });
  if (bytes.length > SMALL_BODY && countNames(bytes) > MOST_NAMES) {
    throw new RpcError(
      'PAYLOAD_TOO_LARGE',
      `The request body has more than ${MOST_NAMES} object members. Split it into smaller requests.`,
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString().replace(/^\uFEFF/, ''));
  } catch (error) {
    throw bodyError(error);
  }
  if (typeof value !== 'object' || value === null) throw bodyError(undefined);
  return value;
}

/** Counts the colons outside of strings. In UTF-8, no part of another character has the same byte. */
function countNames(bytes: Buffer): number {
  let names = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (isText && byte === BACKSLASH) at += 1;
    else if (byte === QUOTE) isText = !isText;
    else if (byte === COLON && !isText) names += 1;
  }
  return names;
}

const [BACKSLASH, QUOTE, COLON] = [0x5c, 0x22, 0x3a];

/** @throws the errors of `parse`, and SERVICE_UNAVAILABLE if too many bodies of the sender are waiting. */
async function parseInTurn(bytes: Buffer, sender: string): Promise<unknown> {
  const turn = await new Promise<{ end: () => void }>((resolve, reject) => {
    const work = () => new Promise<void>((end) => resolve({ end }));
    largeBodies.run(sender, LONGEST_WAIT_MS, work).catch((error: Error) => {
      reject(error instanceof TooManyWaiting ? tooManyBodies() : error);
    });
  });
  const begun = performance.now();
  try {
    return parse(bytes);
  } finally {
    // Includes the time that the request's handler takes immediately afterwards.
    setImmediate(() => setTimeout(turn.end, REST * (performance.now() - begun)));
  }
}

/** The client disconnected before its body ended. No one needs a response, and the error log needs no entry. */
export class ClientGone extends Error {}

/**
 * Compressed bytes expand at most this many times. Tables expand 3 to 20 times; the limit of the format is 1,032.
 * Smaller bodies are harmless.
 */
const MOST_EXPANSION = 200;
const ALWAYS_EXPANDED = 1024 * 1024;

/**
 * Returns a body to be read as it arrives. An unread rest does not affect the response.
 *
 * @param accepted a body without `largestBody` may be compressed with gzip.
 * @throws RpcError BAD_REQUEST, UNSUPPORTED_MEDIA_TYPE or PAYLOAD_TOO_LARGE, even while reading. Reading can
 *   also throw ClientGone.
 */
export function streamBody(
  request: Request,
  {
    bodyTypes: types,
    largestBody: largest = Infinity,
  }: { bodyTypes: readonly string[]; largestBody?: number },
): StreamedBody {
  // Images, whose size is limited, are compressed already.
  const acceptsGzip = largest === Infinity;
  const wanted = types.join(' or ');
  if (!hasBody(request)) {
    throw new RpcError('BAD_REQUEST', `The request has no body: send ${wanted}.`, {
      issues: [{ path: '', message: `is missing: send ${wanted}` }],
    });
  }
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = request.headers;
  const [mediaType] = type.trim().toLowerCase().split(/\s*;/, 1) as [string];
  const isCompressed = acceptsGzip && /^(x-)?gzip$/i.test(encoding.trim());
  const isKnown = isCompressed || encoding.toLowerCase() === 'identity';
  if (!types.includes(mediaType) || OTHER_CHARSET.test(type) || !isKnown) {
    const compression = acceptsGzip ? 'uncompressed or compressed with gzip' : 'uncompressed';
    const isExcel = types.includes('text/csv') && EXCEL.test(mediaType);
    throw new RpcError(
      'UNSUPPORTED_MEDIA_TYPE',
      (isExcel ? 'Excel files are not read: choose "Save as" and the format "CSV UTF-8" in Excel. ' : '') +
        `Send the body ${compression}, text in UTF-8, with Content-Type: ${wanted}.`,
    );
  }
  if (Number(request.headers['content-length'] ?? 0) > largest) throw tooLarge(largest);
  const bytes = bytesOf(request, largest);
  return { mediaType, contentType: type, bytes: isCompressed ? expanded(bytes) : bytes };
}

/** @throws RpcError BAD_REQUEST if the bytes are not gzip, or expand more than any table does. */
async function* expanded(compressed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let received = 0;
  let size = 0;
  const counted = async function* () {
    for await (const chunk of compressed) {
      received += chunk.length;
      yield chunk;
    }
  };
  const gunzip = createGunzip();
  // Errors of the request, such as a client that disconnected, are thrown as they are.
  let failure: unknown;
  const feeding = pipeline(counted(), gunzip).catch((error: unknown) => (failure = error));
  try {
    for await (const chunk of gunzip) {
      size += (chunk as Uint8Array).length;
      if (size > ALWAYS_EXPANDED && size > MOST_EXPANSION * received)
        throw badGzip(`expands to more than ${MOST_EXPANSION} times its size: send it uncompressed`);
      yield chunk as Uint8Array;
    }
  } catch (error) {
    if (error instanceof RpcError) throw error;
    await feeding;
    if (failure instanceof RpcError || failure instanceof ClientGone) throw failure;
    throw badGzip('is not valid gzip, or ends early: send it again completely');
  } finally {
    gunzip.destroy();
    await feeding;
  }
}

function badGzip(problem: string): RpcError {
  return new RpcError('BAD_REQUEST', `The request body ${problem}.`, {
    issues: [{ path: '', message: problem }],
  });
}

async function* bytesOf(request: Request, largest: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  try {
    // A reader that stops early still sends a response. Destroying the request would close its connection.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      // The body has not ended, so what was read is incomplete.
      if (request.isGivenUp) throw new ClientGone('The response was already sent.');
      size += (chunk as Uint8Array).length;
      if (size > largest) throw tooLarge(largest);
      yield chunk as Uint8Array;
    }
  } catch (error) {
    if (error instanceof RpcError) throw error;
    throw new ClientGone('The client disconnected.', { cause: error });
  }
}

/** @throws RpcError BAD_REQUEST if a request that must not have a body has one. */
export function refuseBody(request: Request): void {
  if (hasBody(request)) {
    throw new RpcError('BAD_REQUEST', 'A GET request must not have a body. Send the input in the query.', {
      issues: [{ path: '', message: 'must not have a body' }],
    });
  }
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** The rest of the body is read and dropped: see UnreadBodies. */
function tooLarge(largest = LARGEST_BODY): RpcError {
  const mebibytes = Math.floor(largest / 1024 / 1024);
  return new RpcError(
    'PAYLOAD_TOO_LARGE',
    `The request body is larger than ${mebibytes} MiB. ` +
      (largest === LARGEST_BODY ? 'Split it into smaller requests.' : 'Send a smaller file.'),
  );
}

function tooManyBodies(): RpcError {
  return new RpcError(
    'SERVICE_UNAVAILABLE',
    `You are sending more large bodies than this instance can read. Try again in a second, or send bodies below ${SMALL_BODY / 1024} KiB.`,
    { reason: 'OVERLOADED', headers: { 'Retry-After': '1' } },
  );
}

function bodyError(error: unknown): RpcError {
  const { status, type } = (error ?? {}) as { status?: number; type?: string };
  if (status === 413) return tooLarge();
  if (status === 415) {
    return new RpcError(
      'UNSUPPORTED_MEDIA_TYPE',
      'Send the body in UTF-8 and uncompressed or compressed with gzip, deflate or br.',
    );
  }
  const problem =
    type === NOT_UTF8
      ? 'is not valid UTF-8'
      : type === 'request.aborted' || type === 'request.size.invalid'
        ? 'ended before its Content-Length: send it again completely'
        : 'is not valid JSON: it must be one JSON object';
  return new RpcError('BAD_REQUEST', `The request body ${problem}.`, {
    issues: [{ path: '', message: problem }],
  });
}
