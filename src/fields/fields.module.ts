import { ProductModule } from '#libs/modules';
import { CustomFields } from './custom-fields.js';
import { fields } from './fields.js';
import * as operations from './operations.js';
import { reasons } from './reasons.js';
import { OptionUse } from './option-use.js';

@ProductModule({
  operations,
  services: { field: 'Custom fields of contacts.' },
  reasons,
  resources: [fields],
  providers: [CustomFields, OptionUse],
  exports: [CustomFields, OptionUse],
})
export class FieldsModule {}
