import { Resource } from '#libs/resources';
import { imageSchema, listedSchema, recordSchema, textOrNull, timestamp } from '#libs/rpc';
import { IMAGE_COLUMN, images, showImages } from '../images/index.js';
import { exists, post, STATUSES, updatePost } from './post.js';

export const postSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  updatedAt: timestamp,
  name: { type: 'string' },
  title: { type: 'string' },
  description: textOrNull,
  imageId: textOrNull,
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
});

/** Lists leave out the content. */
export const listedPostSchema = listedSchema(postSchema);

export const postIdSchema = recordSchema({ postId: { type: 'string' } });

export const posts = new Resource({
  object: 'post',
  decider: post,
  existing: (state) => (exists(state) ? { ...state, [IMAGE_COLUMN]: state.imageId } : undefined),
  answers: postSchema,
  version: 6,
  columns: {
    name: { type: 'text', index: true, search: true },
    title: { type: 'text', search: true },
    status: { type: 'text', index: true },
    [IMAGE_COLUMN]: { type: 'text', index: true },
  },
  refers: { imageId: images },
  apart: 'content',
  hasSlug: true,
});

showImages(posts, (state) => updatePost(state, { imageId: null }));
