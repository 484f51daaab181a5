import { type Request, type Response } from 'express';
import { RpcError } from './errors.js';

/**
 * Maximum bytes of responses that wait in this process for their clients. The system buffers a few MB per connection
 * first. After that, a response of 1 MiB can wait on each connection.
 */
const MOST_BYTES = { organization: 16 * 1024 * 1024, process: 64 * 1024 * 1024 };

/** Seconds. By then, clients that read at all have read. */
const RETRY_AFTER = '1';

/** Responses that are not fully sent, by reader. There are few, because most are sent immediately. */
const waiting = new Map<string, Set<Response>>();

/**
 * Call it before work on a response begins, and again before it is sent: concurrent requests all start before
 * the first response waits.
 *
 * @throws RpcError SERVICE_UNAVAILABLE while the organization's clients leave too much unread. An organization
 *   gets at most half of what the others leave free, so that a few cannot use up all.
 */
export function requireReading(request: Request): void {
  if (waiting.size === 0) return;
  const own = unreadBytes(readerOf(request));
  if (own === 0) return;
  const left = MOST_BYTES.process - unreadBytes();
  if (own < Math.min(MOST_BYTES.organization, left)) return;
  const megabytes = Math.ceil(own / 1024 / 1024);
  throw new RpcError(
    'SERVICE_UNAVAILABLE',
    `${megabytes} MiB of responses wait for ${request.caller ? 'your organization’s clients' : 'clients at your address'} to ` +
      'read them. Read them before you send more requests.',
    { reason: 'OVERLOADED', headers: { 'Retry-After': RETRY_AFTER } },
  );
}

export function countAnswer(request: Request, response: Response): void {
  // The client has disconnected, so no further `close` event will end the count.
  if (response.destroyed) return;
  const reader = readerOf(request);
  const answers = waiting.get(reader) ?? new Set();
  waiting.set(reader, answers.add(response));
  response.once('close', () => {
    answers.delete(response);
    if (answers.size === 0 && waiting.get(reader) === answers) waiting.delete(reader);
  });
}

/** The organization, or the client's address for public content. */
function readerOf({ caller, ip = 'unknown' }: Request): string {
  return caller?.organizationId ?? ip;
}

/** Of one reader, or of all. */
export function unreadBytes(reader?: string): number {
  const sets = reader === undefined ? waiting.values() : [waiting.get(reader) ?? []];
  let bytes = 0;
  // Includes responses that wait behind another one on their connection.
  for (const answers of sets) for (const response of answers) bytes += response.writableLength;
  return bytes;
}
