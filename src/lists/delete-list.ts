import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { Id, Input, Operation } from '#libs/rpc';
import { listIdSchema } from './list-record.js';
import { deleteList, list } from './list.js';

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
  constructor(private readonly commands: Commands) {}

  async execute(command: DeleteList): Promise<{ listId: string }> {
    const { listId } = command;
    await this.commands.end(list, command, listId, deleteList);
    return { listId };
  }
}
