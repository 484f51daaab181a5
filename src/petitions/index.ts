export { PetitionsModule } from './petitions.module.js';
export { petitions, signature } from './petitions.js';
export { AddSignature } from './add-signature.js';
export { CreatePetition } from './create-petition.js';
export { PublishPetition } from './publish-petition.js';
export { invalidation } from './invalidation.js';
export { petition } from './petition.js';
