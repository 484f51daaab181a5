import { type Past } from '#libs/event-store';
import { RpcError } from './errors.js';

/** A record as it was; the envelope then says of when, so that the answer can be reproduced. */
export class PastRecord<Record> {
  constructor(
    readonly record: Record,
    readonly asOf: Past,
  ) {}
}

/** What was not there at a moment may be there now: who is told that it is not must be told of when. */
export function notFoundThen(error: unknown): unknown {
  if (!(error instanceof RpcError) || error.code !== 'NOT_FOUND') return error;
  return new RpcError(
    'NOT_FOUND',
    `${error.message} This applies to the time in asOf. To read the current state, omit asOf.`,
  );
}
