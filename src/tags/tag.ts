import { changedFields } from '#libs/commands';
import { type Decider } from '#libs/event-store';
import { noSuch } from '#libs/rpc';

export type TagFields = { name: string; description: string | null };

export type TagEvent =
  | { type: 'TagCreated'; data: TagFields }
  | { type: 'TagUpdated'; data: Partial<TagFields> }
  | { type: 'TagDeleted'; data: Record<string, never> };

export type Tag = { status: 'unknown' } | ({ status: 'standing' } & TagFields) | { status: 'deleted' };

export const tag: Decider<Tag, TagEvent> = {
  streamType: 'tag',
  initial: { status: 'unknown' },
  events: { TagCreated: true, TagUpdated: true, TagDeleted: true },
  evolve(state, event) {
    if (event.type === 'TagCreated') return { status: 'standing', ...event.data };
    if (state.status !== 'standing') return state;
    switch (event.type) {
      case 'TagUpdated':
        return { ...state, ...event.data };
      case 'TagDeleted':
        return { status: 'deleted' };
    }
  },
};

/** @throws RpcError NOT_FOUND if the tag does not exist. */
export function existingTag(state: Tag): TagFields {
  if (state.status !== 'standing') throw noSuch('tag');
  const { name, description } = state;
  return { name, description };
}

/** Fields that are not given stay unchanged. */
export function updateTag(state: Tag, given: Partial<TagFields>): TagEvent[] {
  const data = changedFields(existingTag(state), given);
  return data ? [{ type: 'TagUpdated', data }] : [];
}

/** Deleting a deleted tag changes nothing. */
export function deleteTag(state: Tag): TagEvent[] {
  if (state.status === 'deleted') return [];
  existingTag(state);
  return [{ type: 'TagDeleted', data: {} }];
}
