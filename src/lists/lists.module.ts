import { ProductModule } from '#libs/modules';
import { ContactsModule } from '../contacts/index.js';
import { lists } from './lists.js';
import * as operations from './operations.js';

@ProductModule({ operations, resources: [lists], imports: [ContactsModule] })
export class ListsModule {}
