import { type Json } from '#libs/event-store';
import { imageSchema, recordSchema, schemaWithout, textOrNull, timestamp } from '#libs/rpc';
import { type Post, standingPost } from './post.js';

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

export type PostRecord = {
  id: string;
  createdAt: Date;
  updatedAt: Date;
  name: string;
  title: string;
  description: string | null;
  imageId: string | null;
  organizationId: string;
  status: string;
  publishedAt: string | null;
  image: null;
  /** Left out in lists that were not asked for it. */
  content?: Json;
};

/** The post as the API answers it. @throws RpcError NOT_FOUND unless it stands. */
export function postRecord(
  organizationId: string,
  id: string,
  { state, createdAt, updatedAt }: { state: Post; createdAt: Date | null; updatedAt: Date | null },
): PostRecord {
  const { name, title, description, imageId, status, publishedAt, content } = standingPost(state);
  return {
    id,
    createdAt: createdAt!,
    updatedAt: updatedAt!,
    name,
    title,
    description,
    imageId,
    organizationId,
    status,
    publishedAt,
    image: null,
    content,
  };
}
