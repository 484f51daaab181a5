import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { changedFields, Commands, Requests } from '#libs/commands';
import { Id, Operation } from '#libs/rpc';
import { PetitionFieldsInput } from './petition-fields.js';
import { petitionRecord, type PetitionRecord, petitionSchema } from './petition-record.js';
import { petition, type PetitionEvent, type PetitionFields, standingPetition } from './petition.js';
import { PetitionsTable } from './petitions.projection.js';

@Operation({
  method: 'POST',
  name: 'petition.update-petition',
  object: 'petition',
  summary: 'Change a petition',
  description: 'Only the fields given are changed; `null` clears an optional one.',
  answers: petitionSchema,
})
export class UpdatePetition extends PetitionFieldsInput {
  @Id()
  petitionId!: string;
}

@CommandHandler(UpdatePetition)
export class UpdatePetitionHandler implements ICommandHandler<UpdatePetition> {
  constructor(
    private readonly commands: Commands,
    private readonly requests: Requests,
    private readonly petitions: PetitionsTable,
  ) {}

  async execute(command: UpdatePetition): Promise<PetitionRecord> {
    const { context, organizationId, petitionId, ...given } = command;
    const changed = await this.commands.change(petition, command, petitionId, (state): PetitionEvent[] => {
      const data = changedFields<PetitionFields>(standingPetition(state), given);
      return data ? [{ type: 'PetitionUpdated', data }] : [];
    });
    const count = () => this.petitions.countSignatures(organizationId, petitionId);
    const signatures = await this.requests.figure(command, count);
    return petitionRecord(organizationId, petitionId, changed, signatures);
  }
}
