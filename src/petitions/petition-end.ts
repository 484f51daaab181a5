import { timedChange } from '#libs/resources';
import { closeAtItsEnd, exists, petition } from './petition.js';

/** Closes each petition at its closing time. Drafts and closed petitions keep no timer. Publishing them sets it. */
export const petitionEnd = timedChange({
  subscription: 'petition-ends',
  timer: 'petition-end',
  decider: petition,
  handles: ['PetitionCreated', 'PetitionUpdated', 'PetitionPublished'],
  timeOf: (state) => (exists(state) && state.status === 'PUBLISHED' ? state.closesAt : null),
  decide: closeAtItsEnd,
});
