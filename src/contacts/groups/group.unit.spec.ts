import { type DomainEvent } from '#libs/event-store';
import { given } from '#libs/testing';
import { groupDecider } from './group.js';

const tag = groupDecider('tag');
const created: DomainEvent = { type: 'TagCreated', data: { name: 'Donor', description: null } };
const renamed: DomainEvent = { type: 'TagUpdated', data: { name: 'Patron' } };
const deleted: DomainEvent = { type: 'TagDeleted', data: {} };
const rename = (state: Parameters<typeof tag.update>[0]) => tag.update(state, { name: 'Patron' });

it('records only the changed fields of an update', () => {
  given(tag, [created]).when(rename).then([renamed]);
  given(tag, [created, renamed]).when(rename).then([]);
  given(tag, [created, deleted]).when(rename).thenThrows('NOT_FOUND');
  given(tag, []).when(rename).thenThrows('NOT_FOUND');
});

it('deletes a group, once', () => {
  given(tag, [created, renamed]).when(tag.delete).then([deleted]);
  given(tag, [created, deleted]).when(tag.delete).then([]);
  given(tag, []).when(tag.delete).thenThrows('NOT_FOUND');
});

it('keeps fields that an update does not contain', () => {
  const state = [created, renamed].reduce((s, event) => tag.evolve(s, event, new Date(0)), tag.initial);
  expect(state).toEqual({ status: 'standing', name: 'Patron', description: null });
});
