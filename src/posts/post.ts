import { changedFields } from '#libs/commands';
import { type Decider, type Json, type Upcasters } from '#libs/event-store';
import { type Slugged, withSlug } from '#libs/resources';
import { noSuch, RpcError } from '#libs/rpc';

export type PostFields = {
  name: string;
  title: string;
  description: string | null;
  imageId: string | null;
  content: Json;
  /** The path of its page; null: its id. */
  slug: string | null;
  /** The petition whose page shows it as an update. */
  petitionId: string | null;
  /** When it will be published automatically: RFC 3339, UTC; null: not scheduled, or published since. */
  publishAt: string | null;
};

/** Posts of earlier versions. */
const UNSCHEDULED = { petitionId: null, publishAt: null } as const satisfies Partial<PostFields>;

export type PostEvent =
  | { type: 'PostCreated'; data: PostFields }
  | { type: 'PostUpdated'; data: Partial<PostFields> }
  | { type: 'PostPublished'; data: Record<string, never> }
  | { type: 'PostArchived'; data: Record<string, never> }
  | { type: 'PostDeleted'; data: Record<string, never> };

/** The first posts had no pages. */
export const postShapes: Upcasters = {
  PostCreated: {
    reads: [
      ({ data, personal }) => ({ data: { ...data, slug: null }, personal }),
      ({ data, personal }) => ({ data: { ...data, ...UNSCHEDULED }, personal }),
    ],
    writes: 'newest',
  },
  PostUpdated: { reads: [(body) => body, (body) => body], writes: 'newest' },
};

export const STATUSES = ['DRAFT', 'PUBLISHED', 'ARCHIVED'] as const;
type PostStatus = (typeof STATUSES)[number];
export type ExistingPost = PostFields & Slugged & { status: PostStatus; publishedAt: string | null };
export type Post = ExistingPost | { status: 'UNKNOWN' } | { status: 'DELETED' };

export const post: Decider<Post, PostEvent> = {
  streamType: 'post',
  initial: { status: 'UNKNOWN' },
  events: {
    PostCreated: true,
    PostUpdated: true,
    PostPublished: true,
    PostArchived: true,
    PostDeleted: true,
  },
  evolve(state, event, at) {
    if (event.type === 'PostCreated')
      return { ...event.data, formerSlugs: [], status: 'DRAFT', publishedAt: null };
    if (state.status === 'UNKNOWN' || state.status === 'DELETED') return state;
    switch (event.type) {
      case 'PostUpdated':
        return { ...state, ...event.data, ...withSlug(state, event.data.slug, at) };
      case 'PostPublished':
        return { ...state, status: 'PUBLISHED', publishedAt: at.toISOString(), publishAt: null };
      case 'PostArchived':
        return { ...state, status: 'ARCHIVED' };
      case 'PostDeleted':
        return { status: 'DELETED' };
    }
  },
};

export function exists(state: Post): state is ExistingPost {
  return state.status !== 'UNKNOWN' && state.status !== 'DELETED';
}

/** @throws RpcError NOT_FOUND if the post does not exist. */
function existingPost(state: Post): ExistingPost {
  if (!exists(state)) throw noSuch('post');
  return state;
}

/** Fields that are not given stay unchanged. @throws RpcError CONFLICT for a time to publish a published post */
export function updatePost(state: Post, given: Partial<PostFields>): PostEvent[] {
  const existing = existingPost(state);
  const data = changedFields<PostFields>(existing, given);
  if (data?.publishAt && existing.status === 'PUBLISHED') {
    throw new RpcError(
      'CONFLICT',
      'This post is published already, so publishAt cannot be set. To publish it again later, archive it first.',
      { reason: 'POST_PUBLISHED' },
    );
  }
  return data ? [{ type: 'PostUpdated', data }] : [];
}

/** Publishes a draft or an archived post. Publishing a published post changes nothing. */
export function publishPost(state: Post): PostEvent[] {
  switch (existingPost(state).status) {
    case 'DRAFT':
    case 'ARCHIVED':
      return [{ type: 'PostPublished', data: {} }];
    case 'PUBLISHED':
      return [];
  }
}

/** Publishes the post at its time, unless that was moved or the post was published since. */
export function publishOnTime(state: Post, now: Date): PostEvent[] {
  if (!exists(state) || state.publishAt === null || Date.parse(state.publishAt) > now.getTime()) return [];
  return publishPost(state);
}

export function archivePost(state: Post): PostEvent[] {
  switch (existingPost(state).status) {
    case 'DRAFT':
      throw new RpcError(
        'CONFLICT',
        'This post is a draft. Only a published post can be archived. Publish or delete the draft.',
        { reason: 'POST_NOT_PUBLISHED' },
      );
    case 'PUBLISHED':
      return [{ type: 'PostArchived', data: {} }];
    case 'ARCHIVED':
      return [];
  }
}

/** Deleting a deleted post changes nothing. */
export function deletePost(state: Post): PostEvent[] {
  if (state.status === 'DELETED') return [];
  existingPost(state);
  return [{ type: 'PostDeleted', data: {} }];
}
