import { deleteHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { deleteField } from './field.js';
import { fieldIdSchema, fields } from './fields.js';

@Operation({
  name: 'field.delete-field',
  summary: 'Delete a custom field',
  description:
    'Its values disappear from all contacts. The encrypted history keeps them until the contact is deleted. Another ' +
    'field can then get the same key, but not these values.',
  answers: fieldIdSchema,
})
export class DeleteField extends RecordInput('fieldId') {}

export const DeleteFieldHandler = deleteHandler(DeleteField, fields, deleteField);
