import { deleteHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { deleteBroadcast } from './broadcast.js';
import { broadcastIdSchema, broadcasts } from './broadcasts.js';

@Operation({
  name: 'broadcast.delete-broadcast',
  summary: 'Delete a broadcast',
  description: 'Only draft and cancelled broadcasts can be deleted.',
  answers: broadcastIdSchema,
  reasons: ['BROADCAST_BEGUN'],
})
export class DeleteBroadcast extends RecordInput('broadcastId') {}

export const DeleteBroadcastHandler = deleteHandler(DeleteBroadcast, broadcasts, deleteBroadcast);
