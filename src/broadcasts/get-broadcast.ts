import { getHandler } from '#libs/resources';
import { Operation, PastInput } from '#libs/rpc';
import { broadcasts, broadcastSchema } from './broadcasts.js';

@Operation({
  name: 'broadcast.get-broadcast',
  summary: 'Retrieve a broadcast',
  answers: broadcastSchema,
})
export class GetBroadcast extends PastInput('broadcastId', 'broadcast') {}

export const GetBroadcastHandler = getHandler(GetBroadcast, broadcasts);
