import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ResourceCommands, type ResourceRecord } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { closePetition } from './petition.js';
import { petitions, petitionSchema } from './petitions.js';

@Operation({
  method: 'POST',
  name: 'petition.close-petition',
  object: 'petition',
  summary: 'Close a petition',
  description: 'A published petition: it takes no more signatures until it is published again.',
  answers: petitionSchema,
  reasons: ['PETITION_NOT_PUBLISHED'],
})
export class ClosePetition extends Input {
  @Id()
  petitionId!: string;
}

@CommandHandler(ClosePetition)
export class ClosePetitionHandler implements ICommandHandler<ClosePetition> {
  constructor(private readonly commands: ResourceCommands) {}

  execute(command: ClosePetition): Promise<ResourceRecord> {
    return this.commands.change(petitions, command, closePetition);
  }
}
