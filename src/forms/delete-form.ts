import { deleteHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { deleteForm } from './form.js';
import { formIdSchema, forms } from './forms.js';

@Operation({
  name: 'form.delete-form',
  summary: 'Delete a sign-up form',
  answers: formIdSchema,
})
export class DeleteForm extends RecordInput('formId') {}

export const DeleteFormHandler = deleteHandler(DeleteForm, forms, deleteForm);
