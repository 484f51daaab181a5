import { createServer, type IncomingMessage, type Server } from 'node:http';
import { describeError } from '#libs/database';
import { type Witness } from './witness.js';

/** More than a proof of 63 hashes and a checkpoint with many signatures need. */
const LARGEST_BODY = 64 * 1024;
/** Concurrent requests. Further ones are rejected with 503. */
const MOST_REQUESTS = 100;
const TIMEOUT_MS = 10_000;

/** Writes a log line: which checkpoint was rejected and why, or what failed. */
export type Tell = (line: { message: string; [field: string]: unknown }) => void;

/** Serves `POST …/add-checkpoint` under any path. All other requests return 404. */
export function witnessServer(witness: Witness, tell: Tell): Server {
  let underWay = 0;
  const server = createServer(
    { requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS },
    (request, response) => {
      const answer = (status: number, body: string, type = 'text/plain; charset=utf-8') => {
        response.writeHead(status, {
          'Content-Type': type,
          'Content-Length': Buffer.byteLength(body),
          ...(status === 503 ? { 'Retry-After': '1' } : {}),
          // The unread rest of a body must not be parsed as the next request.
          ...(request.complete ? {} : { Connection: 'close' }),
        });
        response.end(body);
      };
      const serve = async () => {
        const [path = ''] = (request.url ?? '').split('?', 1);
        if (!path.endsWith('/add-checkpoint'))
          return answer(404, 'Not found. A witness only supports add-checkpoint.\n');
        if (request.method !== 'POST') {
          response.setHeader('Allow', 'POST');
          return answer(405, 'Use POST to add a checkpoint.\n');
        }
        const body = await readBody(request);
        if (body === undefined) return answer(413, `A request can have up to ${LARGEST_BODY} bytes.\n`);
        const added = await witness.add(body);
        if (added.status !== 200) {
          tell({
            message: 'checkpoint rejected',
            status: added.status,
            reason:
              added.status === 409
                ? `The proof does not start at the ${added.body.trim()} events that this witness has cosigned.`
                : added.body.trim(),
            origin: originOf(body),
          });
        }
        answer(added.status, added.body, added.type);
      };
      if (underWay >= MOST_REQUESTS) return answer(503, 'Too many concurrent requests. Retry in a second.\n');
      underWay += 1;
      serve()
        .catch((error: unknown) => {
          if (response.destroyed) return;
          tell({ message: 'comparing the checkpoint failed', reason: describeError(error) });
          answer(500, 'The witness could not compare the checkpoint and did not cosign it.\n');
        })
        .finally(() => (underWay -= 1));
    },
  );
  return server;
}

/** @returns undefined if it is too large. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > LARGEST_BODY) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** @returns undefined if it is not a valid origin: input from strangers is not logged at any length. */
function originOf(body: string): string | undefined {
  const [origin] = body.slice(body.indexOf('\n\n') + 2).split('\n', 1);
  return origin && /^[\x21-\x7e]{1,100}$/.test(origin) ? origin : undefined;
}
