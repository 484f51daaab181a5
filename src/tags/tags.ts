import { groupOfContacts } from '../contacts/index.js';

export const {
  resource: tags,
  operations,
  Create: CreateTag,
  Add: TagContacts,
} = groupOfContacts({
  kind: 'tag',
  version: 2,
  name: { max: 100, example: 'Donor' },
  description: { max: 500 },
  link: {
    streamType: 'tagging',
    begins: 'ContactTagged',
    ends: 'ContactUntagged',
    uniqueKey: 'tag.contact',
    table: 'taggings',
  },
  assignedBy: 'name',
  texts: {
    count: 'Exact number of contacts that have the tag.',
    filter: 'Only contacts that have this tag.',
    members: 'with any of these tags',
    deletion: 'The contacts that have the tag are kept.',
    add: {
      summary: 'Assign a tag to contacts',
      description:
        'Tags all of the contacts or none: if one is unknown, the request returns 404 and names it. Contacts that ' +
        'already have the tag keep it.',
    },
    remove: {
      summary: 'Remove a tag from contacts',
      description:
        'Untags all of the contacts or none: if one never existed, the request returns 404 and names it. Contacts ' +
        'without the tag are ignored. The contacts themselves are kept.',
    },
  },
});
