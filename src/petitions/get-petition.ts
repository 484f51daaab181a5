import { getHandler } from '#libs/resources';
import { Id, Input, Operation, Timestamp } from '#libs/rpc';
import { petitions, petitionSchema } from './petitions.js';

@Operation({
  method: 'GET',
  name: 'petition.get-petition',
  object: 'petition',
  summary: 'Retrieve a petition',
  answers: petitionSchema,
})
export class GetPetition extends Input {
  @Id()
  petitionId!: string;

  @Timestamp({ optional: true, description: 'Returns the petition as it was at this time.' })
  asOf?: string;
}

export const GetPetitionHandler = getHandler(GetPetition, petitions);
