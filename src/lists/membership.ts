import { type Decider } from '#libs/event-store';

type Link = { listId: string; contactId: string };

/**
 * A contact's place on a list: a stream of its own, so that lists may be of any length. It ends when the
 * contact is removed or erased; added again, the contact gets another.
 */
export type MembershipEvent =
  { type: 'ContactAddedToList'; data: Link } | { type: 'ContactRemovedFromList'; data: Link };

export type Membership = { status: 'unknown' } | ({ status: 'standing' | 'ended' } & Link);

export const membership: Decider<Membership, MembershipEvent> = {
  streamType: 'list-membership',
  initial: { status: 'unknown' },
  events: { ContactAddedToList: true, ContactRemovedFromList: true },
  evolve(_state, event) {
    switch (event.type) {
      case 'ContactAddedToList':
        return { status: 'standing', ...event.data };
      case 'ContactRemovedFromList':
        return { status: 'ended', ...event.data };
    }
  },
};

export function addToList(listId: string, contactId: string): MembershipEvent[] {
  return [{ type: 'ContactAddedToList', data: { listId, contactId } }];
}

export function removeFromList(listId: string, contactId: string): MembershipEvent[] {
  return [{ type: 'ContactRemovedFromList', data: { listId, contactId } }];
}

/** Once on each list. */
export function membershipKey(listId: string, contactId: string): string[] {
  return ['list.member', listId, contactId];
}
