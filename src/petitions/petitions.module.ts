import { ProductModule } from '#libs/modules';
import { ContactsModule } from '../contacts/index.js';
import { OpenPetitions } from './open-petitions.js';
import * as operations from './operations.js';
import { petitions } from './petitions.js';

@ProductModule({
  operations,
  resources: [petitions],
  imports: [ContactsModule],
  providers: [OpenPetitions],
})
export class PetitionsModule {}
