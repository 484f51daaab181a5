import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ResourceCommands } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { deleteList } from './list.js';
import { listIdSchema, lists } from './lists.js';

@Operation({
  method: 'DELETE',
  name: 'list.delete-list',
  object: 'list',
  summary: 'Delete a list',
  description: 'The contacts that were on it remain.',
  answers: listIdSchema,
})
export class DeleteList extends Input {
  @Id()
  listId!: string;
}

@CommandHandler(DeleteList)
export class DeleteListHandler implements ICommandHandler<DeleteList> {
  constructor(private readonly commands: ResourceCommands) {}

  execute(command: DeleteList): Promise<object> {
    return this.commands.end(lists, command, deleteList);
  }
}
