import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, Requests } from '#libs/commands';
import { Id, Input, Operation } from '#libs/rpc';
import { petitionRecord, type PetitionRecord, petitionSchema } from './petition-record.js';
import { petition, closePetition } from './petition.js';
import { PetitionsTable } from './petitions.projection.js';

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
  constructor(
    private readonly commands: Commands,
    private readonly requests: Requests,
    private readonly petitions: PetitionsTable,
  ) {}

  async execute(command: ClosePetition): Promise<PetitionRecord> {
    const { organizationId, petitionId } = command;
    const changed = await this.commands.change(petition, command, petitionId, closePetition);
    const count = () => this.petitions.countSignatures(organizationId, petitionId);
    const signatures = await this.requests.figure(command, count);
    return petitionRecord(organizationId, petitionId, changed, signatures);
  }
}
