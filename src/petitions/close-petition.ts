import { changeHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { closePetition } from './petition.js';
import { petitions, petitionSchema } from './petitions.js';

@Operation({
  name: 'petition.close-petition',
  summary: 'Close a petition',
  description: 'Closes a published petition. It accepts no signatures until it is published again.',
  answers: petitionSchema,
  reasons: ['PETITION_NOT_PUBLISHED'],
})
export class ClosePetition extends RecordInput('petitionId') {}

export const ClosePetitionHandler = changeHandler(ClosePetition, petitions, closePetition);
