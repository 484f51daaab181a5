import { type Decider } from '#libs/event-store';

export type SuppressedAddress = { status: 'unknown' | 'readable' | 'erased' };

export type SuppressedAddressEvent =
  | { type: 'SuppressedAddressNoted'; data: { suppressionId: string } }
  | { type: 'SuppressedAddressErased'; data: Record<string, never> };

/**
 * Owns the key of a suppressed address that no contact has. It has its own stream, because a key belongs to a
 * stream and is destroyed with it, while the suppression continues.
 */
export const suppressedAddress: Decider<SuppressedAddress, SuppressedAddressEvent> = {
  streamType: 'suppressed-address',
  isInternal: true,
  initial: { status: 'unknown' },
  events: { SuppressedAddressNoted: true, SuppressedAddressErased: true },
  evolve(state, { type }) {
    if (type === 'SuppressedAddressNoted') return { status: 'readable' };
    return state.status === 'unknown' ? state : { status: 'erased' };
  },
};

/** Erasing an erased address changes nothing. */
export function eraseAddress({ status }: SuppressedAddress): SuppressedAddressEvent[] {
  return status === 'readable' ? [{ type: 'SuppressedAddressErased', data: {} }] : [];
}
