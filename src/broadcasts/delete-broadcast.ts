import { deleteHandler } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { deleteBroadcast } from './broadcast.js';
import { broadcastIdSchema, broadcasts } from './broadcasts.js';

@Operation({
  method: 'DELETE',
  name: 'broadcast.delete-broadcast',
  object: 'broadcast',
  summary: 'Delete a broadcast',
  description: 'Only draft and cancelled broadcasts can be deleted.',
  answers: broadcastIdSchema,
  reasons: ['BROADCAST_BEGUN'],
})
export class DeleteBroadcast extends Input {
  @Id()
  broadcastId!: string;
}

export const DeleteBroadcastHandler = deleteHandler(DeleteBroadcast, broadcasts, deleteBroadcast);
