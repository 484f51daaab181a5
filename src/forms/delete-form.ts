import { deleteHandler } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { deleteForm } from './form.js';
import { formIdSchema, forms } from './forms.js';

@Operation({
  method: 'DELETE',
  name: 'form.delete-form',
  object: 'form',
  summary: 'Delete a sign-up form',
  answers: formIdSchema,
})
export class DeleteForm extends Input {
  @Id()
  formId!: string;
}

export const DeleteFormHandler = deleteHandler(DeleteForm, forms, deleteForm);
