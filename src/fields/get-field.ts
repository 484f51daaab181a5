import { getHandler } from '#libs/resources';
import { Operation, PastInput } from '#libs/rpc';
import { fields, fieldSchema } from './fields.js';

@Operation({
  name: 'field.get-field',
  summary: 'Retrieve a custom field',
  answers: fieldSchema,
})
export class GetField extends PastInput('fieldId', 'field') {}

export const GetFieldHandler = getHandler(GetField, fields);
