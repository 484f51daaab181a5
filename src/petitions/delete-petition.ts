import { deleteHandler } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { deletePetition } from './petition.js';
import { petitionIdSchema, petitions } from './petitions.js';

@Operation({
  method: 'DELETE',
  name: 'petition.delete-petition',
  object: 'petition',
  summary: 'Delete a petition',
  description: 'A published petition cannot be deleted. Close it first.',
  answers: petitionIdSchema,
  reasons: ['PETITION_PUBLISHED'],
})
export class DeletePetition extends Input {
  @Id()
  petitionId!: string;
}

export const DeletePetitionHandler = deleteHandler(DeletePetition, petitions, deletePetition);
