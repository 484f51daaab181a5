import { duplicateHandler, slugOf } from '#libs/resources';
import { Operation, RecordInput, Text } from '#libs/rpc';
import { duplicatePetition } from './petition.js';
import { petitionIdSchema, petitions } from './petitions.js';

@Operation({
  name: 'petition.duplicate-petition',
  summary: 'Duplicate a petition',
  description:
    'Creates a draft with the fields of the petition, except `name`, `slug`, `closesAt` and its outcome. It has no signatures. ' +
    'Sending the same body again returns the first copy, as long as it exists and still has that name.',
  answers: petitionIdSchema,
})
export class DuplicatePetition extends RecordInput('petitionId') {
  @Text({ max: 200, example: 'Save the lake', description: 'The name of the copy.' })
  name!: string;
}

export const DuplicatePetitionHandler = duplicateHandler(DuplicatePetition, petitions, (state, { name }) =>
  duplicatePetition(state, name, slugOf(name)),
);
