import { Resource } from '#libs/resources';
import { imageSchema, recordSchema, schemaWithout, textOrNull, timestamp } from '#libs/rpc';
import { isStanding, post } from './post.js';

export const postSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  updatedAt: timestamp,
  name: { type: 'string' },
  title: { type: 'string' },
  description: textOrNull,
  imageId: textOrNull,
  organizationId: { type: 'string' },
  status: { type: 'string', enum: ['DRAFT', 'PUBLISHED', 'ARCHIVED'] },
  publishedAt: { type: ['string', 'null'], format: 'date-time', description: 'When it was last published.' },
  image: imageSchema,
  content: { description: 'Any JSON.' },
});

/** Of an element of a list. */
export const listedPostSchema = schemaWithout(postSchema, 'content');

export const postIdSchema = recordSchema({ postId: { type: 'string' } });

export const posts = new Resource({
  object: 'post',
  decider: post,
  standing: (state) => (isStanding(state) ? state : undefined),
  answers: postSchema,
  version: 3,
  columns: {
    name: { type: 'text', index: true, search: true },
    title: { type: 'text', search: true },
    status: { type: 'text', index: true },
  },
  apart: 'content',
});
