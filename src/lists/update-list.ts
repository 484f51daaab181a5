import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { changedFields, Commands, Requests } from '#libs/commands';
import { Id, Input, Operation, Text } from '#libs/rpc';
import { type ListRecord, listRecord, listSchema } from './list-record.js';
import { list, type ListEvent, type ListFields, standingList } from './list.js';
import { ListsTable } from './lists.projection.js';

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
  constructor(
    private readonly commands: Commands,
    private readonly requests: Requests,
    private readonly lists: ListsTable,
  ) {}

  async execute(command: UpdateList): Promise<ListRecord> {
    const { context, organizationId, listId, ...given } = command;
    const changed = await this.commands.change(list, command, listId, (state): ListEvent[] => {
      const data = changedFields<ListFields>(standingList(state), given);
      return data ? [{ type: 'ListUpdated', data }] : [];
    });
    const count = () => this.lists.count(organizationId, listId);
    return listRecord(organizationId, listId, changed, await this.requests.figure(command, count));
  }
}
