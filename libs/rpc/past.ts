import { type Past } from '#libs/event-store';
import { RpcError } from './errors.js';

/** A record as it was. The response contains the time, so that it can be reproduced. */
export class PastRecord<Record> {
  constructor(
    readonly record: Record,
    readonly asOf: Past,
  ) {}
}

/**
 * Runs a query about the past. If the record did not exist at that time, the error states this, because it may
 * exist now.
 */
export async function inPast<Answer>(query: () => Promise<Answer>): Promise<Answer> {
  try {
    return await query();
  } catch (error) {
    if (!(error instanceof RpcError) || error.code !== 'NOT_FOUND') throw error;
    throw new RpcError(
      'NOT_FOUND',
      `${error.message} This applies to the time in asOf. To read the current state, omit asOf.`,
    );
  }
}
