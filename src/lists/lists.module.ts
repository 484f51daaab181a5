import { ProductModule } from '#libs/modules';
import { ContactsModule } from '../contacts/index.js';
import { lists, operations } from './lists.js';

@ProductModule({
  operations,
  services: { list: 'Named lists of contacts.' },
  resources: [lists],
  imports: [ContactsModule],
})
export class ListsModule {}
