import { changeHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { resumeBroadcast } from './broadcast.js';
import { broadcasts, broadcastSchema } from './broadcasts.js';

@Operation({
  name: 'broadcast.resume-broadcast',
  summary: 'Resume a broadcast',
  description: 'Resuming a broadcast that is being sent changes nothing.',
  scope: 'broadcast:send',
  answers: broadcastSchema,
  reasons: ['BROADCAST_NOT_SENDING'],
})
export class ResumeBroadcast extends RecordInput('broadcastId') {}

export const ResumeBroadcastHandler = changeHandler(ResumeBroadcast, broadcasts, resumeBroadcast);
