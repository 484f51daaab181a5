import { given } from '#libs/testing';
import { deleteList, list, type ListEvent, existingList } from './list.js';

const created: ListEvent = { type: 'ListCreated', data: { name: 'Volunteers', description: null } };
const renamed: ListEvent = { type: 'ListUpdated', data: { name: 'Helpers' } };
const deleted: ListEvent = { type: 'ListDeleted', data: {} };

it('deletes a list, once', () => {
  given(list, [created, renamed]).when(deleteList).then([deleted]);
  given(list, [created, deleted]).when(deleteList).then([]);
  given(list, []).when(deleteList).thenThrows('NOT_FOUND');
});

it('keeps fields that an update does not contain, and rejects changes once deleted', () => {
  const state = [created, renamed].reduce((s, event) => list.evolve(s, event, new Date(0)), list.initial);
  expect(existingList(state)).toEqual({ name: 'Helpers', description: null });
  expect(() => existingList(list.evolve(state, deleted, new Date(0)))).toThrow(/^No list/);
});
