import { ProductModule } from '#libs/modules';
import { ContactsModule } from '../contacts/index.js';
import { PetitionGoals } from './goal-reached.js';
import { OpenPetitions } from './open-petitions.js';
import * as operations from './operations.js';
import { petitionGoal } from './petition-goal.js';
import { petitions } from './petitions.js';

@ProductModule({
  operations,
  resources: [petitions],
  streams: [petitionGoal],
  subscriptions: [PetitionGoals],
  imports: [ContactsModule],
  providers: [OpenPetitions],
})
export class PetitionsModule {}
