import { changeHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { cancelBroadcast } from './broadcast.js';
import { broadcasts, broadcastSchema } from './broadcasts.js';

@Operation({
  name: 'broadcast.cancel-broadcast',
  summary: 'Cancel a broadcast',
  description:
    'Allowed in any state except `SENT`. Remaining recipients receive nothing. Cancelling a cancelled broadcast ' +
    'changes nothing.',
  answers: broadcastSchema,
  reasons: ['BROADCAST_BEGUN'],
})
export class CancelBroadcast extends RecordInput('broadcastId') {}

export const CancelBroadcastHandler = changeHandler(CancelBroadcast, broadcasts, cancelBroadcast);
