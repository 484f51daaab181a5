export { CreateField, MAX_FIELDS } from './create-field.js';
export { FieldsModule } from './fields.module.js';
export { CustomFields, namedValues } from './custom-fields.js';
export {
  type FieldDefinition,
  type GivenValues,
  MOST_VALUE_BYTES,
  readValue,
  readValues,
  valueIn,
} from './custom-values.js';
export { type CustomValue, field, FIELD_TYPES, hasOptions } from './field.js';
export { type FieldRecord, fields } from './fields.js';
export { OptionUse } from './option-use.js';
