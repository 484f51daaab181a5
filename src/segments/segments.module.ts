import { ProductModule } from '#libs/modules';
import { ContactsModule } from '../contacts/index.js';
import * as operations from './operations.js';
import { segments } from './segments.js';

@ProductModule({ operations, resources: [segments], imports: [ContactsModule] })
export class SegmentsModule {}
