import { type Past } from '#libs/event-store';
import { RpcError } from './errors.js';
import { invalid } from './input.js';

/** A record as it was. The response contains the time, so that it can be reproduced. */
export class PastRecord<Record> {
  constructor(
    readonly record: Record,
    readonly asOf: Past,
  ) {}
}

/** @throws RpcError BAD_REQUEST for the fields in a query with `asOf` that it does not combine with. */
export function rejectWithPast<Query extends { asOf?: string }>(
  query: Query,
  fields: readonly (keyof Query & string)[],
): void {
  if (query.asOf === undefined) return;
  const sent = fields.filter((name) => {
    const value = query[name];
    return value !== undefined && !(Array.isArray(value) && value.length === 0);
  });
  if (sent.length === 0) return;
  throw invalid(sent.map((path) => ({ path, message: 'must be omitted with asOf, which returns the past' })));
}

/** @throws RpcError BAD_REQUEST unless the list is in the order of creation: other fields may have changed since. */
export function requireCreationOrder({ sort }: { sort: string }): void {
  if (sort === 'createdAt' || sort === '-createdAt') return;
  throw invalid([{ path: 'sort', message: 'must be createdAt or -createdAt with asOf' }]);
}

/** A list as it was: limits a listing to what had been created by then. */
export function until<Listing extends { createdBefore?: string }>(
  listing: Listing,
  { moment }: Past,
): Listing {
  // Times are stored in milliseconds, and `createdBefore` excludes the time itself.
  const end = new Date(moment.getTime() + 1).toISOString();
  const { createdBefore } = listing;
  const isEarlier = createdBefore !== undefined && Date.parse(createdBefore) < Date.parse(end);
  return isEarlier ? listing : { ...listing, createdBefore: end };
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
