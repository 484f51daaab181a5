import { changeHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { pauseBroadcast } from './broadcast.js';
import { broadcasts, broadcastSchema } from './broadcasts.js';

@Operation({
  name: 'broadcast.pause-broadcast',
  summary: 'Pause a broadcast',
  description:
    'Messages already being sent are still delivered. All instances stop sending within a second. Pausing a ' +
    'paused broadcast changes nothing.',
  answers: broadcastSchema,
  reasons: ['BROADCAST_NOT_SENDING'],
})
export class PauseBroadcast extends RecordInput('broadcastId') {}

export const PauseBroadcastHandler = changeHandler(PauseBroadcast, broadcasts, pauseBroadcast);
