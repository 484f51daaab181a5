import { type Decider } from '#libs/event-store';
import { noSuch } from '#libs/rpc';

/** Why nobody writes to an address. */
export const REASONS = ['UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED', 'MANUAL'] as const;
export type Reason = (typeof REASONS)[number];

/**
 * Whose key the readable address is encrypted with: the contact's who has it, or where none has, that of a stream of its own
 * (`suppressed-address.ts`). None at all: only the hash is kept.
 */
export type Holder = { contactId: string; addressId: null } | { contactId: null; addressId: string };

export type SuppressionEvent =
  | {
      type: 'AddressSuppressed';
      data: { reason: Reason; contactId: string | null; addressId: string | null };
      personal: { email: string } | null;
    }
  /** `reason` null: none holds any more. */
  | { type: 'SuppressionEnded'; data: { reason: Reason | null } };

/** Of an address; it stands as long as a reason holds. */
export type Suppression = {
  /** In the order in which they came. */
  reasons: readonly Reason[];
  /** Since when, in RFC 3339. */
  since: string | null;
  /** Null where it was erased, and where it never was readable. */
  email: string | null;
  /** The stream whose key is the address's alone. */
  addressId: string | null;
};

const NOTHING: Suppression = { reasons: [], since: null, email: null, addressId: null };

/**
 * The stream of an address has an id that follows from its keyed hash (`suppression-id.ts`), and goes on when the address is
 * erased: who objected is not written to again, whoever imports the address once more.
 */
export const suppression: Decider<Suppression, SuppressionEvent> = {
  streamType: 'suppression',
  initial: NOTHING,
  events: { AddressSuppressed: true, SuppressionEnded: true },
  evolve(state, event, at) {
    const reasons = reasonsAfter(state.reasons, event);
    if (event.type === 'SuppressionEnded') return reasons.length === 0 ? NOTHING : { ...state, reasons };
    const { contactId, addressId } = event.data;
    const isHeld = contactId !== null || addressId !== null;
    return {
      reasons,
      since: state.since ?? at.toISOString(),
      email: isHeld ? (event.personal?.email ?? null) : state.email,
      addressId: addressId ?? state.addressId,
    };
  },
};

/** What holds after an event. */
export function reasonsAfter(before: readonly Reason[], { type, data }: SuppressionEvent): readonly Reason[] {
  if (type === 'AddressSuppressed') return before.includes(data.reason) ? before : [...before, data.reason];
  return data.reason === null ? [] : before.filter((reason) => reason !== data.reason);
}

export function isSuppressed({ reasons }: Suppression): boolean {
  return reasons.length > 0;
}

/** A reason that holds already changes nothing, nor does it bring back an address that was erased. */
export function suppressAddress(
  { reasons }: Suppression,
  reason: Reason,
  email: string,
  holder: Holder | undefined,
): SuppressionEvent[] {
  if (reasons.includes(reason)) return [];
  const { contactId = null, addressId = null } = holder ?? {};
  return [
    {
      type: 'AddressSuppressed',
      data: { reason, contactId, addressId },
      personal: holder ? { email } : null,
    },
  ];
}

/** @param reason only this one; others go on holding. */
export function endSuppression({ reasons }: Suppression, reason?: Reason): SuppressionEvent[] {
  if (reason === undefined ? reasons.length === 0 : !reasons.includes(reason)) return [];
  return [{ type: 'SuppressionEnded', data: { reason: reason ?? null } }];
}

/** Ending what ended before changes nothing. @param version of the stream; 0: the address never was suppressed. */
export function deleteSuppression(state: Suppression, version: number): SuppressionEvent[] {
  if (version === 0) throw noSuch('suppression');
  return endSuppression(state);
}
