import { createHandler } from '#libs/resources';
import { Operation, Text } from '#libs/rpc';
import { DEFAULT_GOAL, PetitionFieldsInput } from './petition-fields.js';
import { type PetitionEvent, WITHOUT_PAGE } from './petition.js';
import { petitionIdSchema, petitions } from './petitions.js';

@Operation({
  method: 'POST',
  name: 'petition.create-petition',
  object: 'petition',
  summary: 'Create a petition',
  description:
    'It starts as a draft, with no signatures. ' +
    'The same body again answers the one it made first, as long as that exists and has its name; for a second one ' +
    'like it send an `Idempotency-Key`.',
  answers: petitionIdSchema,
})
export class CreatePetition extends PetitionFieldsInput {
  @Text({ max: 200, example: 'Save the river' })
  override name!: string;
}

export const CreatePetitionHandler = createHandler(CreatePetition, petitions, (command): PetitionEvent => {
  const { name, target = null, description = null, ask = null, imageId = null, content = null } = command;
  // Filled in before the request is compared with others: with or without the defaults it is the same.
  const title = (command.title ??= name);
  const goal = (command.goal ??= DEFAULT_GOAL);
  const data = { name, title, goal, target, description, ask, imageId, content, ...WITHOUT_PAGE };
  return { type: 'PetitionCreated', data };
});
