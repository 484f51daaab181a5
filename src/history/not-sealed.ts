import { RpcError } from '#libs/rpc';
import { NotSealed } from '#libs/sealing';

/** @throws RpcError CONFLICT where nothing is signed that has what was asked for. */
export async function sealed<Found>(found: Promise<Found>): Promise<Found> {
  return found.catch((error: unknown) => {
    if (!(error instanceof NotSealed)) throw error;
    throw new RpcError(
      'CONFLICT',
      'The history of this organization is not sealed at the moment, because what is stored does not lead to what was ' +
        'signed before. The operator can see why; what was sealed goes on being handed out.',
      { reason: 'NOT_SEALED' },
      { cause: error },
    );
  });
}
