import { RpcError } from '#libs/rpc';
import { NothingSealed, NotSealed } from '#libs/sealing';

/** @throws RpcError NOT_FOUND if the log has no checkpoint yet. @throws RpcError CONFLICT if nothing signed covers the requested data. */
export async function sealed<Found>(found: Promise<Found>): Promise<Found> {
  return found.catch((error: unknown) => {
    if (!(error instanceof NotSealed)) throw error;
    if (error instanceof NothingSealed)
      throw new RpcError('NOT_FOUND', 'This log has no checkpoint yet. Retry in a minute.');
    throw new RpcError(
      'CONFLICT',
      'The history of this organization cannot be sealed at the moment, because the stored data does not match ' +
        'what was signed before. The operator can see why. Everything sealed so far remains available.',
      { reason: 'NOT_SEALED' },
      { cause: error },
    );
  });
}
