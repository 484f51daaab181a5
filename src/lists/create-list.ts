import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { Input, Operation, Text } from '#libs/rpc';
import { listIdSchema } from './list-record.js';
import { list, type ListEvent } from './list.js';

@Operation({
  method: 'POST',
  name: 'list.create-list',
  object: 'list',
  summary: 'Create a list',
  description:
    'It starts without contacts. The same body again answers the one it made first, as long as that exists and has its ' +
    'name; for a second one like it send an `Idempotency-Key`.',
  answers: listIdSchema,
})
export class CreateList extends Input {
  @Text({ max: 200, example: 'Volunteers' })
  name!: string;

  @Text({ max: 10_000, optional: true, nullable: true })
  description?: string | null;
}

@CommandHandler(CreateList)
export class CreateListHandler implements ICommandHandler<CreateList> {
  constructor(private readonly commands: Commands) {}

  async execute(command: CreateList): Promise<{ listId: string }> {
    const { name, description = null } = command;
    const { recordId } = await this.commands.create(list, command, (): ListEvent[] => [
      { type: 'ListCreated', data: { name, description } },
    ]);
    return { listId: recordId };
  }
}
