import { Resource } from '#libs/resources';
import { recordSchema, textOrNull, timestamp } from '#libs/rpc';
import { chooseContactsBy, contactLink } from '../contacts/index.js';
import { tag } from './tag.js';

/** A contact's tag. It ends when the tag is removed or the contact is erased. */
const tagging = contactLink({
  record: 'tag',
  streamType: 'tagging',
  begins: 'ContactTagged',
  ends: 'ContactUntagged',
  uniqueKey: 'tag.contact',
  atErasure: 'ends',
});

export const tagSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  updatedAt: timestamp,
  name: { type: 'string' },
  description: textOrNull,
  organizationId: { type: 'string' },
  contacts: { type: 'integer', description: 'Exact number of contacts that have the tag.' },
});

export const tagIdSchema = recordSchema({ tagId: { type: 'string' } });

export const tags = new Resource({
  object: 'tag',
  decider: tag,
  standing: (state) => (state.status === 'standing' ? state : undefined),
  answers: tagSchema,
  version: 1,
  columns: { name: { type: 'text', index: true, search: true } },
  counts: { link: tagging, field: 'contacts', table: 'taggings' },
});

chooseContactsBy(tags, 'Only contacts that have this tag.');
