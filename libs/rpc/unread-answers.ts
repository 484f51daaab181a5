import { type Request, type Response } from 'express';
import { RpcError } from './errors.js';

/**
 * Bytes of answers that wait in this process for their clients to read them. What a client leaves unread the system
 * takes first, some MB a connection; then one answer of 1 MiB waits on each of however many connections.
 */
const MOST_BYTES = { organization: 16 * 1024 * 1024, process: 64 * 1024 * 1024 };

/** Seconds. Who reads has read by then. */
const RETRY_AFTER = '1';

/** Answers that are made and not sent whole, by whose they are: a few, because most are sent at once. */
const waiting = new Map<string, Set<Response>>();

/**
 * Asked before an answer is worked on, and again when it is there: those asked for at once are all worked on before the
 * first waits.
 *
 * @throws RpcError SERVICE_UNAVAILABLE while the organization's clients leave too much unread. Of what the process has
 *   left an organization gets no more than half, so that few cannot take it from all others.
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

/** Counts what is about to be answered until it is sent. */
export function countAnswer(request: Request, response: Response): void {
  // Its client has gone, and it will not be told of its end again.
  if (response.destroyed) return;
  const reader = readerOf(request);
  const answers = waiting.get(reader) ?? new Set();
  waiting.set(reader, answers.add(response));
  response.once('close', () => {
    answers.delete(response);
    if (answers.size === 0 && waiting.get(reader) === answers) waiting.delete(reader);
  });
}

/** An organization; of what everybody may read, the client’s address. */
function readerOf({ caller, ip = 'unknown' }: Request): string {
  return caller?.organizationId ?? ip;
}

/** Of an organization or an address, or of all. */
export function unreadBytes(reader?: string): number {
  const sets = reader === undefined ? waiting.values() : [waiting.get(reader) ?? []];
  let bytes = 0;
  // Also of an answer that waits behind another on its connection.
  for (const answers of sets) for (const response of answers) bytes += response.writableLength;
  return bytes;
}
