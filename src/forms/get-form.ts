import { getHandler } from '#libs/resources';
import { Id, Input, Operation, Timestamp } from '#libs/rpc';
import { forms, formSchema } from './forms.js';

@Operation({
  method: 'GET',
  name: 'form.get-form',
  object: 'form',
  summary: 'Retrieve a sign-up form',
  answers: formSchema,
})
export class GetForm extends Input {
  @Id()
  formId!: string;

  @Timestamp({ optional: true, description: 'Returns the form as it was at this time.' })
  asOf?: string;
}

export const GetFormHandler = getHandler(GetForm, forms);
