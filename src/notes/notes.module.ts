import './moved-with-contacts.js';
import { ProductModule } from '#libs/modules';
import { ContactsModule } from '../contacts/index.js';
import { contactNotes } from './note.js';
import * as operations from './operations.js';
import { reasons } from './reasons.js';

@ProductModule({
  operations,
  services: { note: 'Notes that your team keeps about a contact.' },
  reasons,
  streams: [contactNotes],
  imports: [ContactsModule],
})
export class NotesModule {}
