import { createHandler, slugOf } from '#libs/resources';
import { Operation, Text } from '#libs/rpc';
import { AfterSigningInput, readAfterSigning } from './after-signing.js';
import { DEFAULT_GOAL, momentOf, readFormFields } from './petition-fields.js';
import { formWith } from './petition-form.js';
import { NOT_SET_YET } from './petition-shapes.js';
import { type PetitionEvent } from './petition.js';
import { petitionIdSchema, petitions } from './petitions.js';

@Operation({
  method: 'POST',
  name: 'petition.create-petition',
  object: 'petition',
  summary: 'Create a petition',
  description:
    'A new petition is a draft without signatures. Sending the same body again returns the first petition, as ' +
    'long as it exists and still has that name. To create an identical one, send an `Idempotency-Key`.',
  answers: petitionIdSchema,
  reasons: ['SLUG_TAKEN'],
})
export class CreatePetition extends AfterSigningInput {
  @Text({ max: 200, example: 'Save the river' })
  override name!: string;
}

export const CreatePetitionHandler = createHandler(CreatePetition, petitions, (command): PetitionEvent => {
  const { name, target = null, description = null, ask = null, imageId = null, content = null } = command;
  // Defaults are set before requests are compared: a request with the defaults equals one without them.
  const title = (command.title ??= name);
  const goal = (command.goal ??= DEFAULT_GOAL);
  const { slug = slugOf(name), confirmation = 'EMAIL', publicComments = false } = command;
  const formFields = readFormFields(command.formFields ?? []);
  const closesAt = momentOf(command.closesAt) ?? null;
  // Left out if default: earlier versions did not have these fields, and a request sent to one of them may be
  // retried here.
  if (confirmation === 'EMAIL') delete command.confirmation;
  if (!publicComments) delete command.publicComments;
  if (formFields.length === 0) delete command.formFields;
  const after = readAfterSigning(command);
  if (!after.thankYou) delete command.thankYou;
  if (!after.thankYouMail) delete command.thankYouMail;
  const comments = publicComments ? 'SHOWN' : 'OFF';
  const page = { slug, confirmation, closesAt, comments, form: formWith(formFields) } as const;
  return {
    type: 'PetitionCreated',
    data: {
      name,
      title,
      goal,
      target,
      description,
      ask,
      imageId,
      content,
      ...NOT_SET_YET,
      ...page,
      ...after,
    },
  };
});
