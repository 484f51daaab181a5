import { given } from '#libs/testing';
import { deleteTag, existingTag, tag, type TagEvent, updateTag } from './tag.js';

const created: TagEvent = { type: 'TagCreated', data: { name: 'Donor', description: null } };
const renamed: TagEvent = { type: 'TagUpdated', data: { name: 'Patron' } };
const deleted: TagEvent = { type: 'TagDeleted', data: {} };

it('records only the changed fields of an update', () => {
  given(tag, [created])
    .when((state) => updateTag(state, { name: 'Patron' }))
    .then([renamed]);
  given(tag, [created, renamed])
    .when((state) => updateTag(state, { name: 'Patron' }))
    .then([]);
  given(tag, [created, deleted])
    .when((state) => updateTag(state, { name: 'Patron' }))
    .thenThrows('NOT_FOUND');
});

it('deletes a tag, once', () => {
  given(tag, [created, renamed]).when(deleteTag).then([deleted]);
  given(tag, [created, deleted]).when(deleteTag).then([]);
  given(tag, []).when(deleteTag).thenThrows('NOT_FOUND');
});

it('keeps fields that an update does not contain', () => {
  const state = [created, renamed].reduce((s, event) => tag.evolve(s, event, new Date(0)), tag.initial);
  expect(existingTag(state)).toEqual({ name: 'Patron', description: null });
});
