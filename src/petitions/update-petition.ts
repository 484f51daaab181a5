import { changeHandler } from '#libs/resources';
import { Id, Operation } from '#libs/rpc';
import { momentOf, PetitionFieldsInput, readFormFields } from './petition-fields.js';
import { updatePetition } from './petition.js';
import { petitions, petitionSchema } from './petitions.js';

@Operation({
  method: 'POST',
  name: 'petition.update-petition',
  object: 'petition',
  summary: 'Update a petition',
  description: 'Changes only the fields you send; `null` clears an optional field.',
  answers: petitionSchema,
  reasons: ['SLUG_TAKEN'],
})
export class UpdatePetition extends PetitionFieldsInput {
  @Id()
  petitionId!: string;
}

export const UpdatePetitionHandler = changeHandler(UpdatePetition, petitions, (state, command) => {
  const { context, organizationId, petitionId, ...changes } = command;
  const closesAt = momentOf(changes.closesAt);
  return updatePetition(state, {
    ...changes,
    ...(closesAt === undefined ? {} : { closesAt }),
    ...(changes.formFields ? { formFields: readFormFields(changes.formFields) } : {}),
  });
});
