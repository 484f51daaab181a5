import { changedFields } from '#libs/commands';
import { changeHandler } from '#libs/resources';
import { Id, Operation } from '#libs/rpc';
import { AfterSigningInput, readAfterSigning } from './after-signing.js';
import { momentOf, readFormFields } from './petition-fields.js';
import { asEarlier, type Earlier, fromEarlier } from './petition-shapes.js';
import { existingPetition, updatePetition } from './petition.js';
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
export class UpdatePetition extends AfterSigningInput {
  @Id()
  petitionId!: string;
}

export const UpdatePetitionHandler = changeHandler(UpdatePetition, petitions, (state, command) => {
  const { context, organizationId, petitionId, publicComments, formFields, ...rest } = command;
  const { thankYou, thankYouMail, ...changes } = rest;
  const closesAt = momentOf(changes.closesAt);
  const given = { publicComments, formFields: formFields && readFormFields(formFields) };
  return updatePetition(state, {
    ...changes,
    ...readAfterSigning({ thankYou, thankYouMail }),
    ...(closesAt === undefined ? {} : { closesAt }),
    ...fromEarlier(changedFields<Partial<Earlier>>(asEarlier(existingPetition(state)), given) ?? {}),
  });
});
