import { type Decider } from '#libs/event-store';

export type SuppressedAddress = { status: 'unknown' | 'readable' | 'erased' };

export type SuppressedAddressEvent =
  | { type: 'SuppressedAddressNoted'; data: { suppressionId: string } }
  | { type: 'SuppressedAddressErased'; data: Record<string, never> };

/**
 * Whose key a suppressed address is encrypted with that no contact has. A stream of its own, because a key is made with the
 * stream that it is of, and the suppression outlives it.
 */
export const suppressedAddress: Decider<SuppressedAddress, SuppressedAddressEvent> = {
  streamType: 'suppressed-address',
  initial: { status: 'unknown' },
  events: { SuppressedAddressNoted: true, SuppressedAddressErased: true },
  evolve(state, { type }) {
    if (type === 'SuppressedAddressNoted') return { status: 'readable' };
    return state.status === 'unknown' ? state : { status: 'erased' };
  },
};

/** Erasing the erased changes nothing. */
export function eraseAddress({ status }: SuppressedAddress): SuppressedAddressEvent[] {
  return status === 'readable' ? [{ type: 'SuppressedAddressErased', data: {} }] : [];
}
