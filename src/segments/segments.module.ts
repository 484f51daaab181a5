import { ProductModule } from '#libs/modules';
import { ContactsModule } from '../contacts/index.js';
import { FieldsModule } from '../fields/index.js';
import { FilterReader } from './filter-reader.js';
import * as operations from './operations.js';
import { segmentShapes } from './segment.js';
import { segments } from './segments.js';

@ProductModule({
  operations,
  services: { segment: 'Saved filters that find contacts.' },
  resources: [segments],
  upcasters: segmentShapes,
  imports: [ContactsModule, FieldsModule],
  providers: [FilterReader],
})
export class SegmentsModule {}
