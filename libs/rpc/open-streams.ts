import { type Request, type Response } from 'express';
import { RpcError } from './errors.js';

/**
 * Maximum streams (bodies and responses of any length) at the same time. Each can hold a record of 1 MiB and a
 * page of 400. At the limit, a process needs some 64 MiB.
 */
const MOST_STREAMS = { key: 4, organization: 8, process: 32 };

/** Seconds. No one knows when a stream will end. */
const RETRY_AFTER = '5';

/** Open streams by key and by organization. They are counted per process, because its memory is the limit. */
const open = new Map<string, number>();
let total = 0;

export function streamsOpen(): number {
  return total;
}

/**
 * Counts this request's stream until its response is closed.
 *
 * @throws RpcError RATE_LIMIT_EXCEEDED if the key, the organization or the process has reached its limit. An
 *   organization gets at most half of what the others leave free, so that a few cannot use up all.
 */
export function openStream({ caller }: Request, response: Response): void {
  const { actor, organizationId } = caller!;
  const key = `key ${actor.id}`;
  const ofKey = open.get(key) ?? 0;
  const ofOrganization = open.get(organizationId) ?? 0;
  if (ofKey >= MOST_STREAMS.key) throw tooMany('This API key has', ofKey);
  if (ofOrganization >= MOST_STREAMS.organization) throw tooMany('Your organization has', ofOrganization);
  if (ofOrganization >= MOST_STREAMS.process - total) throw tooMany('This server has', total);

  const count = (by: 1 | -1) => {
    total += by;
    for (const name of [key, organizationId]) {
      const streams = (open.get(name) ?? 0) + by;
      if (streams === 0) open.delete(name);
      else open.set(name, streams);
    }
  };
  count(1);
  response.once('close', () => count(-1));
}

function tooMany(whoHas: string, streams: number): RpcError {
  return new RpcError(
    'RATE_LIMIT_EXCEEDED',
    `${whoHas} ${streams} imports, exports and uploads running, which is the limit. Try again when one has finished.`,
    { reason: 'STREAM_LIMIT', headers: { 'Retry-After': RETRY_AFTER } },
  );
}
