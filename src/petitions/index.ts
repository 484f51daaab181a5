export { PetitionsModule } from './petitions.module.js';
export { petitionsProjection } from './petitions.projection.js';
