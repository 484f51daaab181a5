import { getHandler } from '#libs/resources';
import { Operation, PastInput } from '#libs/rpc';
import { petitions, petitionSchema } from './petitions.js';

@Operation({
  name: 'petition.get-petition',
  summary: 'Retrieve a petition',
  answers: petitionSchema,
})
export class GetPetition extends PastInput('petitionId', 'petition') {}

export const GetPetitionHandler = getHandler(GetPetition, petitions);
