import { type Decider } from '#libs/event-store';
import { noSuch } from '#libs/rpc';

/** Why an address is suppressed. */
export const REASONS = ['UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED', 'MANUAL'] as const;
export type Reason = (typeof REASONS)[number];

/**
 * Whose key encrypts the readable address: that of the contact who has it, or else of a separate stream
 * (`suppressed-address.ts`). With neither, only the hash is stored.
 */
export type Holder = { contactId: string; addressId: null } | { contactId: null; addressId: string };

export type SuppressionEvent =
  | {
      type: 'AddressSuppressed';
      data: {
        reason: Reason;
        /** The contact with this address. */
        contactId: string | null;
        /** The record of type `suppressed-address`, if no contact has the address. */
        addressId: string | null;
      };
      personal: { email: string } | null;
    }
  | {
      type: 'SuppressionEnded';
      data: {
        /** null: all reasons. */
        reason: Reason | null;
      };
    };

/** The suppression of an address. It is active while it has a reason. */
export type Suppression = {
  /** Oldest first. */
  reasons: readonly Reason[];
  /** When the first reason was recorded, RFC 3339. */
  since: string | null;
  /** Null once erased, and if it was never readable. */
  email: string | null;
  /** The stream that owns the address's key, if no contact does. */
  addressId: string | null;
};

const NOTHING: Suppression = { reasons: [], since: null, email: null, addressId: null };

/**
 * The stream id follows from the address's keyed hash (`suppression-id.ts`). The stream outlives an erasure
 * of the address, so a person who objected stays suppressed even if the address is imported again.
 */
export const suppression: Decider<Suppression, SuppressionEvent> = {
  streamType: 'suppression',
  initial: NOTHING,
  events: { AddressSuppressed: true, SuppressionEnded: true },
  evolve(state, event, at) {
    const reasons = reasonsAfter(state.reasons, event);
    if (event.type === 'SuppressionEnded') return reasons.length === 0 ? NOTHING : { ...state, reasons };
    const { contactId, addressId } = event.data;
    const isReadable = contactId !== null || addressId !== null;
    return {
      reasons,
      since: state.since ?? at.toISOString(),
      email: isReadable ? (event.personal?.email ?? null) : state.email,
      addressId: addressId ?? state.addressId,
    };
  },
};

/** The reasons after an event. */
export function reasonsAfter(before: readonly Reason[], { type, data }: SuppressionEvent): readonly Reason[] {
  if (type === 'AddressSuppressed') return before.includes(data.reason) ? before : [...before, data.reason];
  return data.reason === null ? [] : before.filter((reason) => reason !== data.reason);
}

export function isSuppressed({ reasons }: Suppression): boolean {
  return reasons.length > 0;
}

/** Adds a reason. An existing reason changes nothing and does not restore an erased address. */
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

/** Ends the suppression. @param reason ends only this reason. */
export function endSuppression({ reasons }: Suppression, reason?: Reason): SuppressionEvent[] {
  if (reason === undefined ? reasons.length === 0 : !reasons.includes(reason)) return [];
  return [{ type: 'SuppressionEnded', data: { reason: reason ?? null } }];
}

/**
 * Ending an ended suppression changes nothing. @param version of the stream; 0: the address was never
 * suppressed.
 */
export function deleteSuppression(state: Suppression, version: number): SuppressionEvent[] {
  if (version === 0) throw noSuch('suppression');
  return endSuppression(state);
}
