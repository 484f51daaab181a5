import { changedFields } from '#libs/commands';
import { type Decider } from '#libs/event-store';
import { noSuch } from '#libs/rpc';

export type ListFields = { name: string; description: string | null };

export type ListEvent =
  | { type: 'ListCreated'; data: ListFields }
  | { type: 'ListUpdated'; data: Partial<ListFields> }
  | { type: 'ListDeleted'; data: Record<string, never> };

export type List = { status: 'unknown' } | ({ status: 'standing' } & ListFields) | { status: 'deleted' };

export const list: Decider<List, ListEvent> = {
  streamType: 'list',
  initial: { status: 'unknown' },
  events: { ListCreated: true, ListUpdated: true, ListDeleted: true },
  evolve(state, event) {
    if (event.type === 'ListCreated') return { status: 'standing', ...event.data };
    if (state.status !== 'standing') return state;
    switch (event.type) {
      case 'ListUpdated':
        return { ...state, ...event.data };
      case 'ListDeleted':
        return { status: 'deleted' };
    }
  },
};

/** @throws RpcError NOT_FOUND if the list does not exist. */
export function existingList(state: List): ListFields {
  if (state.status !== 'standing') throw noSuch('list');
  const { name, description } = state;
  return { name, description };
}

/** Fields that are not given stay unchanged. */
export function updateList(state: List, given: Partial<ListFields>): ListEvent[] {
  const data = changedFields(existingList(state), given);
  return data ? [{ type: 'ListUpdated', data }] : [];
}

/** Deleting a deleted list changes nothing. */
export function deleteList(state: List): ListEvent[] {
  if (state.status === 'deleted') return [];
  existingList(state);
  return [{ type: 'ListDeleted', data: {} }];
}
