import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { Id, Input, Operation } from '#libs/rpc';
import { petitionIdSchema } from './petition-record.js';
import { deletePetition, petition } from './petition.js';

@Operation({
  method: 'DELETE',
  name: 'petition.delete-petition',
  object: 'petition',
  summary: 'Delete a petition',
  description: 'Not while it is published: close it first.',
  answers: petitionIdSchema,
  reasons: ['PETITION_PUBLISHED'],
})
export class DeletePetition extends Input {
  @Id()
  petitionId!: string;
}

@CommandHandler(DeletePetition)
export class DeletePetitionHandler implements ICommandHandler<DeletePetition> {
  constructor(private readonly commands: Commands) {}

  async execute(command: DeletePetition): Promise<{ petitionId: string }> {
    const { petitionId } = command;
    await this.commands.end(petition, command, petitionId, deletePetition);
    return { petitionId };
  }
}
