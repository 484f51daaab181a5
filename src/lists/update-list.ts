import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ResourceCommands, type ResourceRecord } from '#libs/resources';
import { Id, Input, Operation, Text } from '#libs/rpc';
import { updateList } from './list.js';
import { lists, listSchema } from './lists.js';

@Operation({
  method: 'POST',
  name: 'list.update-list',
  object: 'list',
  summary: 'Change a list',
  description: 'Only the fields given are changed; `null` clears the description.',
  answers: listSchema,
})
export class UpdateList extends Input {
  @Id()
  listId!: string;

  @Text({ max: 200, optional: true })
  name?: string;

  @Text({ max: 10_000, optional: true, nullable: true })
  description?: string | null;
}

@CommandHandler(UpdateList)
export class UpdateListHandler implements ICommandHandler<UpdateList> {
  constructor(private readonly commands: ResourceCommands) {}

  execute(command: UpdateList): Promise<ResourceRecord> {
    const { name, description } = command;
    return this.commands.change(lists, command, (state) => updateList(state, { name, description }));
  }
}
