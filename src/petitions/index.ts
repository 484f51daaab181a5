export { PetitionsModule } from './petitions.module.js';
export { petitionsProjection, replayablePetitions } from './petitions.projection.js';
export { AddSignature } from './add-signature.js';
export { CreatePetition } from './create-petition.js';
export { PublishPetition } from './publish-petition.js';
export { petition } from './petition.js';
export { signature } from './signature.js';
