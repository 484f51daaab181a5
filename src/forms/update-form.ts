import { ResourceCommands } from '#libs/resources';
import { handlerOf, Id, Operation } from '#libs/rpc';
import { PetitionForms } from '../petitions/index.js';
import { FormFieldsInput, readNested } from './form-fields.js';
import { form, updateForm } from './form.js';
import { forms, formSchema } from './forms.js';

@Operation({
  name: 'form.update-form',
  summary: 'Update a sign-up form',
  description:
    'Changes only the fields you send; `null` clears an optional field. Lists and objects are replaced as a whole.',
  answers: formSchema,
  reasons: ['SLUG_TAKEN'],
  fieldScopes: { listIds: 'list:write', tagIds: 'tag:write' },
})
export class UpdateForm extends FormFieldsInput {
  @Id()
  formId!: string;
}

export const UpdateFormHandler = handlerOf(
  UpdateForm,
  [ResourceCommands, PetitionForms],
  async (command, commands, petitionForms) => {
    const { context, organizationId, formId, fields, consent, thankYou, ...changes } = command;
    const { nested, require } = await readNested(petitionForms, organizationId, {
      fields,
      consent,
      thankYou,
    });
    const isBuiltIn = formId === form.builtIn!.idIn(organizationId);
    return commands.change(
      forms,
      command,
      (state) => updateForm(state, { ...changes, ...nested }, isBuiltIn),
      require,
    );
  },
);
