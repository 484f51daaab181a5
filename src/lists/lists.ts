import { Resource } from '#libs/resources';
import { recordSchema, textOrNull, timestamp } from '#libs/rpc';
import { chooseContactsBy, contactLink, importContactsInto } from '../contacts/index.js';
import { list } from './list.js';

/** A contact's membership of a list. It ends when the contact is removed or erased. */
const membership = contactLink({
  record: 'list',
  streamType: 'list-membership',
  begins: 'ContactAddedToList',
  ends: 'ContactRemovedFromList',
  uniqueKey: 'list.member',
  atErasure: 'ends',
});

export const listSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  updatedAt: timestamp,
  name: { type: 'string' },
  description: textOrNull,
  organizationId: { type: 'string' },
  contacts: { type: 'integer', description: 'Exact number of contacts on the list.' },
});

export const listIdSchema = recordSchema({ listId: { type: 'string' } });

export const lists = new Resource({
  object: 'list',
  decider: list,
  standing: (state) => (state.status === 'standing' ? state : undefined),
  answers: listSchema,
  version: 3,
  columns: { name: { type: 'text', index: true, search: true } },
  counts: { link: membership, field: 'contacts', table: 'members' },
});

chooseContactsBy(lists, 'Only contacts on this list.');
importContactsInto(lists, 'A list to which all contacts in the file are added.');
