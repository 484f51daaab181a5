import { compare, search, SEARCH_RULE } from '#libs/projections';
import { listHandler } from '#libs/resources';
import { OneOf, Operation, PageInput, Text } from '#libs/rpc';
import { FIELD_TYPES } from './field.js';
import { fields, fieldSchema } from './fields.js';

@Operation({
  name: 'field.list-fields',
  summary: 'List custom fields',
  answers: fieldSchema,
  list: true,
})
export class ListFields extends PageInput('name') {
  @OneOf(FIELD_TYPES, { optional: true })
  type?: string;

  @Text({ max: 200, optional: true, description: `Part of the name or the key. ${SEARCH_RULE}` })
  q?: string;
}

export const ListFieldsHandler = listHandler(ListFields, fields, ({ type, q }) => [
  compare('type = ?', type),
  search(['name', 'key'], q),
]);
