import { changeHandler } from '#libs/resources';
import { Id, Operation, RecordInput } from '#libs/rpc';
import { withdrawCount } from './offline-count.js';
import { offlineCounts, offlineCountSchema } from './offline-counts.js';

@Operation({
  method: 'DELETE',
  name: 'petition.withdraw-offline-signatures',
  object: 'offline-count',
  summary: 'Withdraw a count of signatures on paper',
  description: 'The signatures no longer count. The entry stays in the list, with the status `WITHDRAWN`.',
  answers: offlineCountSchema,
})
export class WithdrawOfflineSignatures extends RecordInput('offlineCountId') {
  @Id({ optional: true, description: 'Withdraws the count only if it belongs to this petition.' })
  petitionId?: string;
}

export const WithdrawOfflineSignaturesHandler = changeHandler(
  WithdrawOfflineSignatures,
  offlineCounts,
  (state, { petitionId }) => withdrawCount(state, petitionId),
);
