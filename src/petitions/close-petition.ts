import { changeHandler } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { closePetition } from './petition.js';
import { petitions, petitionSchema } from './petitions.js';

@Operation({
  method: 'POST',
  name: 'petition.close-petition',
  object: 'petition',
  summary: 'Close a petition',
  description: 'Closes a published petition. It accepts no signatures until it is published again.',
  answers: petitionSchema,
  reasons: ['PETITION_NOT_PUBLISHED'],
})
export class ClosePetition extends Input {
  @Id()
  petitionId!: string;
}

export const ClosePetitionHandler = changeHandler(ClosePetition, petitions, closePetition);
