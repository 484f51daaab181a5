import { ResourceCommands, slugOf } from '#libs/resources';
import { handlerOf, Operation, Text } from '#libs/rpc';
import { PetitionForms } from '../petitions/index.js';
import { FormFieldsInput, readNested } from './form-fields.js';
import { DEFAULT_FORM, type FormFields } from './form.js';
import { formIdSchema, forms } from './forms.js';

@Operation({
  name: 'form.create-form',
  summary: 'Create a sign-up form',
  description:
    'A form has a page on which people subscribe, and can be embedded in other websites. Sending the same body again ' +
    'returns the first form, as long as it exists and still has that name. To create an identical one, send an ' +
    '`Idempotency-Key`.',
  answers: formIdSchema,
  reasons: ['SLUG_TAKEN'],
  fieldScopes: { listIds: 'list:write', tagIds: 'tag:write' },
})
export class CreateForm extends FormFieldsInput {
  @Text({ max: 200, example: 'Newsletter' })
  override name!: string;
}

export const CreateFormHandler = handlerOf(
  CreateForm,
  [ResourceCommands, PetitionForms],
  async (command, commands, petitionForms) => {
    const { name, text = null, slug = slugOf(name), listIds = [], tagIds = [] } = command;
    // Defaults are set before requests are compared: a request with the defaults equals one without them.
    const title = (command.title ??= name);
    const confirmation = (command.confirmation ??= DEFAULT_FORM.confirmation);
    const status = (command.status ??= DEFAULT_FORM.status);
    const { nested, require } = await readNested(petitionForms, command.organizationId, command);
    const own = { name, title, text, slug, listIds, tagIds, confirmation, status };
    const data: FormFields = { ...DEFAULT_FORM, ...own, ...nested };
    return commands.create(forms, command, { type: 'FormCreated', data }, require);
  },
);
