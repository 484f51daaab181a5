import { groupOfContacts, importContactsByName, importContactsInto } from '../contacts/index.js';

export const {
  decider: list,
  resource: lists,
  operations,
  Create: CreateList,
  Add: AddContacts,
} = groupOfContacts({
  kind: 'list',
  version: 4,
  name: { max: 200, example: 'Volunteers' },
  description: { max: 10_000 },
  link: {
    streamType: 'list-membership',
    begins: 'ContactAddedToList',
    ends: 'ContactRemovedFromList',
    uniqueKey: 'list.member',
    table: 'members',
  },
  assignedBy: 'id',
  texts: {
    count: 'Exact number of contacts on the list.',
    filter: 'Only contacts on this list.',
    members: 'on any of these lists',
    deletion: 'The contacts on the list are kept.',
    add: {
      summary: 'Add contacts to a list',
      description:
        'Adds all of the contacts or none: if one is unknown, the request returns 404 and names it. Contacts already ' +
        'on the list stay on it.',
    },
    remove: {
      summary: 'Remove contacts from a list',
      description:
        'Removes all of the contacts or none: if one never existed, the request returns 404 and names it. Contacts ' +
        'that are not on the list are ignored. The contacts themselves are kept.',
    },
  },
});

importContactsInto(lists, 'A list to which all contacts in the file are added.');
importContactsByName('lists', { resource: lists, create: CreateList });
