import { given } from '#libs/testing';
import {
  closePetition,
  deletePetition,
  petition,
  type PetitionEvent,
  publishPetition,
  requireOpen,
  WITHOUT_PAGE,
} from './petition.js';

const data = {
  name: 'Save the river',
  title: 'Save the river',
  goal: 100,
  target: null,
  description: null,
  ask: null,
  imageId: null,
  content: null,
  ...WITHOUT_PAGE,
};
const created: PetitionEvent = { type: 'PetitionCreated', data };
const updated: PetitionEvent = { type: 'PetitionUpdated', data: { goal: 5 } };
const published: PetitionEvent = { type: 'PetitionPublished', data: {} };
const closed: PetitionEvent = { type: 'PetitionClosed', data: {} };
const deleted: PetitionEvent = { type: 'PetitionDeleted', data: {} };

it.each([
  ['publishes a draft', [created], publishPetition, [published]],
  ['publishes the closed again', [created, published, closed], publishPetition, [published]],
  ['leaves the published alone', [created, published, updated], publishPetition, []],
  ['closes the published', [created, published], closePetition, [closed]],
  ['leaves the closed alone', [created, published, closed], closePetition, []],
  ['deletes a draft', [created], deletePetition, [deleted]],
  ['deletes the closed', [created, published, closed], deletePetition, [deleted]],
  ['leaves the deleted alone', [created, deleted], deletePetition, []],
])('%s', (_, events, decision, expected) => {
  given(petition, events).when(decision).then(expected);
});

const sign: typeof publishPetition = (state) => {
  requireOpen(state);
  return [];
};

it.each([
  ['close a draft', [created], closePetition, 'CONFLICT'],
  ['delete the published', [created, published], deletePetition, 'CONFLICT'],
  ['publish what was deleted', [created, deleted, updated], publishPetition, 'NOT_FOUND'],
  ['close what never was', [], closePetition, 'NOT_FOUND'],
  ['delete what never was', [], deletePetition, 'NOT_FOUND'],
  ['sign a draft', [created], sign, 'CONFLICT'],
  ['sign the closed', [created, published, closed], sign, 'CONFLICT'],
  ['sign what was deleted', [created, deleted], sign, 'NOT_FOUND'],
])('refuses to %s', (_, events, decision, code) => {
  given(petition, events).when(decision).thenThrows(code);
});
