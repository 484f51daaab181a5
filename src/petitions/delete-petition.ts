import { deleteHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { deletePetition } from './petition.js';
import { petitionIdSchema, petitions } from './petitions.js';

@Operation({
  name: 'petition.delete-petition',
  summary: 'Delete a petition',
  description: 'A published petition cannot be deleted. Close it first.',
  answers: petitionIdSchema,
  reasons: ['PETITION_PUBLISHED'],
})
export class DeletePetition extends RecordInput('petitionId') {}

export const DeletePetitionHandler = deleteHandler(DeletePetition, petitions, deletePetition);
