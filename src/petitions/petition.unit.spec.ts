import { given } from '#libs/testing';
import {
  closeAtItsEnd,
  closePetition,
  deletePetition,
  nextGoal,
  type Petition,
  petition,
  type PetitionEvent,
  publishPetition as publishAt,
  raiseGoal,
  requireOpen,
} from './petition.js';
import { formWith } from './petition-form.js';
import { NOT_SET_YET } from './petition-shapes.js';

const data = {
  name: 'Save the river',
  title: 'Save the river',
  goal: 100,
  target: null,
  description: null,
  ask: null,
  imageId: null,
  content: null,
  slug: null,
  confirmation: 'EMAIL' as const,
  closesAt: null,
  comments: 'OFF' as const,
  form: formWith([]),
  ...NOT_SET_YET,
};
const created: PetitionEvent = { type: 'PetitionCreated', data };
const updated: PetitionEvent = { type: 'PetitionUpdated', data: { goal: 5 } };
const published: PetitionEvent = { type: 'PetitionPublished', data: {} };
const closed: PetitionEvent = { type: 'PetitionClosed', data: {} };
const deleted: PetitionEvent = { type: 'PetitionDeleted', data: {} };

const END = '2026-11-20T12:00:00.000Z';
const [before, after] = ['2026-11-20T11:59:59.999Z', END].map((moment) => new Date(moment)) as [Date, Date];
const ending: PetitionEvent = { type: 'PetitionUpdated', data: { closesAt: END } };

const publishPetition = (state: Petition) => publishAt(state, before);
const publishLate = (state: Petition) => publishAt(state, after);
const endEarly = (state: Petition) => closeAtItsEnd(state, before);
const end = (state: Petition) => closeAtItsEnd(state, after);

it.each([
  ['publishes a draft', [created], publishPetition, [published]],
  ['reopens a closed petition', [created, published, closed], publishPetition, [published]],
  ['ignores publishing a published petition', [created, published, updated], publishPetition, []],
  ['closes a published petition', [created, published], closePetition, [closed]],
  ['ignores closing a closed petition', [created, published, closed], closePetition, []],
  ['deletes a draft', [created], deletePetition, [deleted]],
  ['deletes a closed petition', [created, published, closed], deletePetition, [deleted]],
  ['ignores deleting a deleted petition', [created, deleted], deletePetition, []],
  ['publishes before its closing time', [created, ending], publishPetition, [published]],
  ['closes at its closing time', [created, ending, published], end, [closed]],
  ['does not close before its closing time', [created, ending, published], endEarly, []],
  ['does not close twice', [created, ending, published, closed], end, []],
  ['does not close a draft at its closing time', [created, ending], end, []],
  ['does not close without a closing time', [created, published], end, []],
])('%s', (_, events, decision, expected) => {
  given(petition, events).when(decision).then(expected);
});

const sign = (state: Petition): PetitionEvent[] => {
  requireOpen(state, before);
  return [];
};
const signLate = (state: Petition): PetitionEvent[] => {
  requireOpen(state, after);
  return [];
};

it.each([
  ['close a draft', [created], closePetition, 'CONFLICT'],
  ['delete a published petition', [created, published], deletePetition, 'CONFLICT'],
  ['publish a deleted petition', [created, deleted, updated], publishPetition, 'NOT_FOUND'],
  ['close an unknown petition', [], closePetition, 'NOT_FOUND'],
  ['delete an unknown petition', [], deletePetition, 'NOT_FOUND'],
  ['sign a draft', [created], sign, 'CONFLICT'],
  ['sign a closed petition', [created, published, closed], sign, 'CONFLICT'],
  ['publish after the closing time', [created, ending], publishLate, 'CONFLICT'],
  ['sign after the closing time', [created, ending, published], signLate, 'CONFLICT'],
  ['sign a deleted petition', [created, deleted], sign, 'NOT_FOUND'],
])('refuses to %s', (_, events, decision, code) => {
  given(petition, events).when(decision).thenThrows(code);
});

it.each([
  [5, 3, null],
  [5, 4, 100],
  [100, 79, null],
  [100, 80, 250],
  [100, 200, 500],
  [250, 200, 500],
  [300, 240, 500],
  [1_000, 799, null],
  [1_000, 800, 2_500],
  [2_500, 9_000, 25_000],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, null],
])('a goal of %d with %d signatures: the next is %p', (goal, signatures, next) => {
  expect(nextGoal({ goal }, signatures)).toBe(next);
});

it('a goal is raised once, while the petition is open and asks for it', () => {
  const raise = (state: Petition) => raiseGoal(state, 80);
  const auto: PetitionEvent = { type: 'PetitionUpdated', data: { autoGoal: true } };
  const raised: PetitionEvent = { type: 'PetitionUpdated', data: { goal: 250 } };
  given(petition, [created, auto, published]).when(raise).then([raised]);
  given(petition, [created, auto, published, raised]).when(raise).then([]);
  for (const events of [[created, published], [created, auto], [created, auto, published, closed], []])
    given(petition, events).when(raise).then([]);
});
