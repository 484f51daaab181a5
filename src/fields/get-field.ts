import { getHandler } from '#libs/resources';
import { Id, Input, Operation, Timestamp } from '#libs/rpc';
import { fields, fieldSchema } from './fields.js';

@Operation({
  method: 'GET',
  name: 'field.get-field',
  object: 'field',
  summary: 'Retrieve a custom field',
  answers: fieldSchema,
})
export class GetField extends Input {
  @Id()
  fieldId!: string;

  @Timestamp({ optional: true, description: 'Returns the field as it was at this time.' })
  asOf?: string;
}

export const GetFieldHandler = getHandler(GetField, fields);
