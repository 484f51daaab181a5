import { changedFields } from '#libs/commands';
import { type Decider } from '#libs/event-store';
import { noSuch } from '#libs/rpc';

/** `origins`: the websites on which the key works, as browsers send them. */
export type PublishableKeyFields = { name: string; origins: string[] };

export type PublishableKeyEvent =
  | { type: 'PublishableKeyCreated'; data: PublishableKeyFields }
  | { type: 'PublishableKeyUpdated'; data: Partial<PublishableKeyFields> }
  | { type: 'PublishableKeyRevoked'; data: Record<string, never> };

type ActivePublishableKey = PublishableKeyFields & { status: 'ACTIVE' };
export type PublishableKey = ActivePublishableKey | { status: 'UNKNOWN' } | { status: 'REVOKED' };

export const publishableKey: Decider<PublishableKey, PublishableKeyEvent> = {
  streamType: 'publishable-key',
  initial: { status: 'UNKNOWN' },
  events: { PublishableKeyCreated: true, PublishableKeyUpdated: true, PublishableKeyRevoked: true },
  evolve(state, event) {
    if (event.type === 'PublishableKeyCreated') return { ...event.data, status: 'ACTIVE' };
    if (state.status !== 'ACTIVE') return state;
    switch (event.type) {
      case 'PublishableKeyUpdated':
        return { ...state, ...event.data };
      case 'PublishableKeyRevoked':
        return { status: 'REVOKED' };
    }
  },
};

/** Fields that are not given stay unchanged. @throws RpcError NOT_FOUND unless the key is active. */
export function updatePublishableKey(
  state: PublishableKey,
  given: Partial<PublishableKeyFields>,
): PublishableKeyEvent[] {
  if (state.status !== 'ACTIVE') throw noSuch('publishable-key');
  const data = changedFields<PublishableKeyFields>(state, given);
  return data ? [{ type: 'PublishableKeyUpdated', data }] : [];
}

/** Revoking a revoked key changes nothing. @throws RpcError NOT_FOUND if the key never existed. */
export function revokePublishableKey(state: PublishableKey): PublishableKeyEvent[] {
  if (state.status === 'UNKNOWN') throw noSuch('publishable-key');
  return state.status === 'ACTIVE' ? [{ type: 'PublishableKeyRevoked', data: {} }] : [];
}
