import { deleteHandler } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { deleteList } from './list.js';
import { listIdSchema, lists } from './lists.js';

@Operation({
  method: 'DELETE',
  name: 'list.delete-list',
  object: 'list',
  summary: 'Delete a list',
  description: 'The contacts on the list are kept.',
  answers: listIdSchema,
})
export class DeleteList extends Input {
  @Id()
  listId!: string;
}

export const DeleteListHandler = deleteHandler(DeleteList, lists, deleteList);
