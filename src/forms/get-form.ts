import { getHandler } from '#libs/resources';
import { Operation, PastInput } from '#libs/rpc';
import { forms, formSchema } from './forms.js';

@Operation({
  name: 'form.get-form',
  summary: 'Retrieve a sign-up form',
  answers: formSchema,
})
export class GetForm extends PastInput('formId', 'form') {}

export const GetFormHandler = getHandler(GetForm, forms);
