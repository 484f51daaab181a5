import { deleteHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { deleteView } from './view.js';
import { viewIdSchema, views } from './views.js';

@Operation({
  name: 'view.delete-view',
  summary: 'Delete a view',
  description: 'The records that it shows are kept.',
  answers: viewIdSchema,
})
export class DeleteView extends RecordInput('viewId') {}

export const DeleteViewHandler = deleteHandler(DeleteView, views, deleteView);
