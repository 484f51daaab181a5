import { ProductModule } from '#libs/modules';
import { ContactsModule } from '../contacts/index.js';
import { lists, operations } from './lists.js';

@ProductModule({ operations, resources: [lists], imports: [ContactsModule] })
export class ListsModule {}
