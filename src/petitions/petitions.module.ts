import { ProductModule } from '#libs/modules';
import { ContactsModule } from '../contacts/index.js';
import { ChosenSignatures } from './chosen-signatures.js';
import { PetitionGoals } from './goal-reached.js';
import { Invalidations } from './invalidate-in-pages.js';
import { invalidations } from './invalidations.js';
import { OpenPetitions } from './open-petitions.js';
import * as operations from './operations.js';
import { petitionGoal } from './petition-goal.js';
import { petitionShapes } from './petition.js';
import { petitions, signatureShapes } from './petitions.js';

@ProductModule({
  operations,
  resources: [petitions, invalidations],
  streams: [petitionGoal],
  subscriptions: [PetitionGoals, Invalidations],
  upcasters: { ...petitionShapes, ...signatureShapes },
  imports: [ContactsModule],
  providers: [OpenPetitions, ChosenSignatures],
})
export class PetitionsModule {}
