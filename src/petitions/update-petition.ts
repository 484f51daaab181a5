import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ResourceCommands, type ResourceRecord } from '#libs/resources';
import { Id, Operation } from '#libs/rpc';
import { PetitionFieldsInput } from './petition-fields.js';
import { updatePetition } from './petition.js';
import { petitions, petitionSchema } from './petitions.js';

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
  constructor(private readonly commands: ResourceCommands) {}

  execute(command: UpdatePetition): Promise<ResourceRecord> {
    const { context, organizationId, petitionId, ...changes } = command;
    return this.commands.change(petitions, command, (state) => updatePetition(state, changes));
  }
}
