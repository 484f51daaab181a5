import { createServer, type IncomingMessage, type Server } from 'node:http';
import { describeError } from '#libs/database';
import { type Witness } from './witness.js';

/** A proof of 63 hashes and a checkpoint with many signatures take less. */
const LARGEST_BODY = 64 * 1024;
/** So many requests are worked on; who comes when there are more is told to come again. */
const MOST_REQUESTS = 100;
const PATIENCE_MS = 10_000;

/** Writes a line: what was refused and why, and what went wrong. */
export type Tell = (line: { message: string; [field: string]: unknown }) => void;

/** `POST …/add-checkpoint`, under whatever path it is reached; everything else is not found. */
export function witnessServer(witness: Witness, tell: Tell): Server {
  let underWay = 0;
  const server = createServer(
    { requestTimeout: PATIENCE_MS, headersTimeout: PATIENCE_MS },
    (request, response) => {
      const answer = (status: number, body: string, type = 'text/plain; charset=utf-8') => {
        response.writeHead(status, {
          'Content-Type': type,
          'Content-Length': Buffer.byteLength(body),
          ...(status === 503 ? { 'Retry-After': '1' } : {}),
          // What was not read to its end must not be taken for the next request.
          ...(request.complete ? {} : { Connection: 'close' }),
        });
        response.end(body);
      };
      const serve = async () => {
        const [path = ''] = (request.url ?? '').split('?', 1);
        if (!path.endsWith('/add-checkpoint'))
          return answer(404, 'There is nothing but add-checkpoint here.\n');
        if (request.method !== 'POST') {
          response.setHeader('Allow', 'POST');
          return answer(405, 'Checkpoints are added with POST.\n');
        }
        const body = await readBody(request);
        if (body === undefined) return answer(413, `A request has ${LARGEST_BODY} bytes at most.\n`);
        const added = await witness.add(body);
        if (added.status !== 200) {
          tell({
            message: 'checkpoint rejected',
            status: added.status,
            reason: added.body.trim(),
            origin: originOf(body),
          });
        }
        answer(added.status, added.body, added.type);
      };
      if (underWay >= MOST_REQUESTS) return answer(503, 'Too many requests at once: repeat this one.\n');
      underWay += 1;
      serve()
        .catch((error: unknown) => {
          if (response.destroyed) return;
          tell({ message: 'comparing the checkpoint failed', reason: describeError(error) });
          answer(500, 'The witness could not compare the checkpoint, and has cosigned nothing.\n');
        })
        .finally(() => (underWay -= 1));
    },
  );
  return server;
}

/** @returns undefined where it is too large. */
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

/** As far as it is one: what strangers send does not go into the log at any length. */
function originOf(body: string): string | undefined {
  const [origin] = body.slice(body.indexOf('\n\n') + 2).split('\n', 1);
  return origin && /^[\x21-\x7e]{1,100}$/.test(origin) ? origin : undefined;
}
