import { ResourceCommands, slugOf } from '#libs/resources';
import { handlerOf, momentOf, Operation, Text } from '#libs/rpc';
import { RecordReader } from '#libs/commands';
import { readAfterSigning } from './after-signing.js';
import { DEFAULT_GOAL, readFormFields, requireOneOfEach } from './petition-fields.js';
import { newForm, withCustomFields } from './petition-form.js';
import { PetitionForms } from './petition-forms.js';
import { NOT_SET_YET } from './petition-shapes.js';
import { mergedTranslations, type PetitionFields } from './petition.js';
import { petitionIdSchema, petitions } from './petitions.js';
import { PetitionInput, presetFor, readLanguages } from './translations.js';

@Operation({
  name: 'petition.create-petition',
  summary: 'Create a petition',
  description:
    'A new petition is a draft without signatures. Sending the same body again returns the first petition, as ' +
    'long as it exists and still has that name. To create an identical one, send an `Idempotency-Key`.',
  answers: petitionIdSchema,
  reasons: ['SLUG_TAKEN'],
})
export class CreatePetition extends PetitionInput {
  @Text({ max: 200, example: 'Save the river' })
  override name!: string;
}

export const CreatePetitionHandler = handlerOf(
  CreatePetition,
  [ResourceCommands, PetitionForms, RecordReader],
  async (command, commands, forms, records) => {
    const { name, target = null, description = null, ask = null, imageId = null, content = null } = command;
    requireOneOfEach(command);
    // Defaults are set before requests are compared: a request with the defaults equals one without them.
    const title = (command.title ??= name);
    const goal = (command.goal ??= DEFAULT_GOAL);
    const { slug = slugOf(name), confirmation = 'EMAIL', publicComments = false } = command;
    const { comments = publicComments ? 'SHOWN' : 'OFF' } = command;
    const formFields = readFormFields(command.formFields ?? []);
    const closesAt = momentOf(command.closesAt) ?? null;
    const preset = withCustomFields(newForm(comments !== 'OFF'), formFields);
    const { form, require } = command.form
      ? await forms.read(command.organizationId, command.form)
      : { form: preset, require: undefined };
    // Left out if default: earlier versions did not have these fields, and a request sent to one of them may be
    // retried here.
    if (confirmation === 'EMAIL') delete command.confirmation;
    if (!publicComments) delete command.publicComments;
    if (comments === 'OFF') delete command.comments;
    if (formFields.length === 0) delete command.formFields;
    const after = readAfterSigning(command);
    if (!after.thankYou) delete command.thankYou;
    if (!after.thankYouMail) delete command.thankYouMail;
    if (!after.autoGoal) delete command.autoGoal;
    const languages = readLanguages(NOT_SET_YET, command, await presetFor(records, command));
    if (command.language === null) delete command.language;
    if (Object.keys(command.translations ?? {}).length === 0) delete command.translations;
    const fields = { name, title, goal, target, description, ask, imageId, content };
    const page = { slug, confirmation, closesAt, comments, form };
    const translations = mergedTranslations({}, languages.translations);
    const data: PetitionFields = {
      ...fields,
      ...NOT_SET_YET,
      ...page,
      ...after,
      ...languages,
      translations,
    };
    return commands.create(petitions, command, { type: 'PetitionCreated', data }, require);
  },
);
