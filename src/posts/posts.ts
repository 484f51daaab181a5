import { type Condition } from '#libs/projections';
import { Resource } from '#libs/resources';
import { imageSchema, listedSchema, recordSchema, recordVersion, textOrNull, timestamp } from '#libs/rpc';
import { IMAGE_COLUMN, images, showImages } from '../images/index.js';
import { petitions } from '../petitions/index.js';
import { exists, post, STATUSES, updatePost } from './post.js';

export const postSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  updatedAt: timestamp,
  version: recordVersion,
  name: { type: 'string' },
  title: { type: 'string' },
  description: textOrNull,
  // Any text, before images could be stored.
  imageId: { ...textOrNull, format: undefined },
  organizationId: { type: 'string' },
  status: { type: 'string', enum: STATUSES },
  publishedAt: { type: ['string', 'null'], format: 'date-time', description: 'When it was last published.' },
  image: imageSchema,
  content: { description: 'Any JSON.' },
  slug: { ...textOrNull, description: 'The path of its page; null: its id.' },
  url: {
    ...textOrNull,
    description: 'The URL of its page; null if the operator has disabled the public site.',
  },
  petitionId: { ...textOrNull, description: 'The petition whose page shows it as an update.' },
  publishAt: {
    type: ['string', 'null'],
    format: 'date-time',
    description: 'When it will be published automatically; null: not scheduled.',
  },
});

/** Lists leave out the content. */
export const listedPostSchema = listedSchema(postSchema);

export const postIdSchema = recordSchema({ postId: { type: 'string' } });

/** The projection's column with the petition's id. */
const PETITION_COLUMN = 'petition_id';

/** A condition for lists: only the updates of this petition. */
export function updatesOf(petitionId: string): Condition {
  return { sql: `${PETITION_COLUMN} = ?`, value: petitionId, selective: true };
}

export const posts = new Resource({
  object: 'post',
  decider: post,
  existing: (state) =>
    exists(state)
      ? { ...state, [IMAGE_COLUMN]: state.imageId, [PETITION_COLUMN]: state.petitionId }
      : undefined,
  answers: postSchema,
  version: 7,
  columns: {
    name: { type: 'text', index: true, search: true },
    title: { type: 'text', search: true },
    status: { type: 'text', index: true },
    [IMAGE_COLUMN]: { type: 'text', index: true },
    [PETITION_COLUMN]: { type: 'text', index: true },
  },
  refers: { imageId: images, petitionId: petitions },
  apart: 'content',
  hasSlug: true,
});

showImages(posts, (state) => updatePost(state, { imageId: null }));
