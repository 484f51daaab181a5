export { FieldsModule } from './fields.module.js';
export { CustomFields, namedValues } from './custom-fields.js';
export { type CustomValue, field } from './field.js';
export { OptionUse } from './option-use.js';
