import { lists } from './lists.js';

export const tags: typeof lists = {
  ...lists,
  title: 'Tags',
  text: 'Mark what contacts have in common, such as donor, member or speaks Turkish.',
  none: { title: 'No tags yet', text: 'Create a tag, then assign it to contacts.' },
  add: 'New tag',
  new: { title: 'New tag', button: 'Create tag' },
  deleting: { ...lists.deleting, text: 'Only the tag is deleted. Its contacts are kept.' },
  members: 'Contacts with this tag',
  addressLabel: 'Assign to a contact by email address',
  addButton: 'Assign tag',
  removeName: (name) => `Remove this tag from ${name}`,
  removeText: 'The contact and the tag are kept.',
  sameName: 'A tag with this name already exists. To use the name anyway, submit the form again.',
  done: {
    created: 'Tag created.',
    changed: 'Tag saved.',
    deleted: 'Tag deleted. Its contacts were kept.',
    added: 'Tag assigned to the contact.',
    removed: 'Tag removed from the contact.',
  },
};
