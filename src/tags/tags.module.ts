import { ProductModule } from '#libs/modules';
import { ContactsModule, importContactsByName } from '../contacts/index.js';
import { CreateTag, operations, tags } from './tags.js';

importContactsByName('tags', { resource: tags, create: CreateTag });

@ProductModule({
  operations,
  services: { tag: 'Labels for contacts.' },
  resources: [tags],
  imports: [ContactsModule],
})
export class TagsModule {}
