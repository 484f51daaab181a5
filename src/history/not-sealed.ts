import { RpcError } from '#libs/rpc';
import { NotSealed } from '#libs/sealing';

/** @throws RpcError CONFLICT if nothing signed covers the requested data. */
export async function sealed<Found>(found: Promise<Found>): Promise<Found> {
  return found.catch((error: unknown) => {
    if (!(error instanceof NotSealed)) throw error;
    throw new RpcError(
      'CONFLICT',
      'The history of this organization cannot be sealed at the moment, because the stored data does not match ' +
        'what was signed before. The operator can see why. Everything sealed so far remains available.',
      { reason: 'NOT_SEALED' },
      { cause: error },
    );
  });
}
