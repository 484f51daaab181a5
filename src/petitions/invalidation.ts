import { type Decider } from '#libs/event-store';
import { noSuch } from '#libs/rpc';

/** Conditions of an invalidation. A signature must match all that are set. */
export type InvalidationCondition = {
  createdAfter: string | null;
  createdBefore: string | null;
  emailDomain: string | null;
};

/** Recorded only in the first event. */
type InvalidationBegun = {
  /** null if the signatures were named individually. */
  condition: InvalidationCondition | null;
  /** Signatures at later positions in the log are not affected. */
  upTo: number;
  /** The number of matching signatures. */
  matched: number;
};

type SignaturesOfPage = {
  petitionId: string;
  signatureIds: string[];
  /** No further event of this invalidation follows. */
  isLast: boolean;
};

export type InvalidationEvent =
  | { type: 'SignaturesInvalidated'; data: SignaturesOfPage & Partial<InvalidationBegun> }
  | { type: 'SignaturesRestored'; data: SignaturesOfPage };

type InvalidationStatus = 'INVALIDATING' | 'INVALIDATED' | 'RESTORING' | 'RESTORED';

export type ExistingInvalidation = InvalidationBegun & {
  status: InvalidationStatus;
  petitionId: string;
  invalidated: number;
  restored: number;
  /** The last signature that was invalidated. Pages are in order of creation. */
  last: string | null;
};
export type Invalidation = { status: 'UNKNOWN' } | ExistingInvalidation;

/**
 * Excludes signatures of a petition from the count until they are restored. Works page by page, since their
 * number is unlimited.
 */
export const invalidation: Decider<Invalidation, InvalidationEvent> = {
  streamType: 'signature-invalidation',
  initial: { status: 'UNKNOWN' },
  events: { SignaturesInvalidated: true, SignaturesRestored: true },
  evolve(state, { type, data }) {
    const { petitionId, signatureIds, isLast } = data;
    switch (type) {
      case 'SignaturesInvalidated': {
        const begun = state.status === 'UNKNOWN' ? begin(petitionId, data) : state;
        return {
          ...begun,
          status: isLast ? 'INVALIDATED' : 'INVALIDATING',
          invalidated: begun.invalidated + signatureIds.length,
          last: signatureIds.at(-1) ?? begun.last,
        };
      }
      case 'SignaturesRestored':
        if (state.status === 'UNKNOWN') return state;
        return {
          ...state,
          status: isLast ? 'RESTORED' : 'RESTORING',
          restored: state.restored + signatureIds.length,
        };
    }
  },
};

function begin(petitionId: string, data: Partial<InvalidationBegun>): ExistingInvalidation {
  const { condition = null, upTo = 0, matched = 0 } = data;
  const nothing = { invalidated: 0, restored: 0, last: null };
  return { status: 'INVALIDATING', petitionId, condition, upTo, matched, ...nothing };
}

/** @throws RpcError NOT_FOUND if the invalidation does not exist. */
export function existingInvalidation(state: Invalidation): ExistingInvalidation {
  if (state.status === 'UNKNOWN') throw noSuch('invalidation');
  return state;
}

/** Excludes the next signatures. @param most the page size: a shorter page is the last one. */
export function invalidateMore(
  state: Invalidation,
  signatureIds: readonly string[],
  most: number,
): InvalidationEvent[] {
  const { status, petitionId } = existingInvalidation(state);
  if (status !== 'INVALIDATING') return [];
  const data = { petitionId, signatureIds: [...signatureIds], isLast: signatureIds.length < most };
  return [{ type: 'SignaturesInvalidated', data }];
}

/**
 * Restores the next signatures. Restoring a restored invalidation changes nothing. @param most as in
 * `invalidateMore`.
 */
export function restoreMore(
  state: Invalidation,
  signatureIds: readonly string[],
  most: number,
): InvalidationEvent[] {
  const { status, petitionId } = existingInvalidation(state);
  if (status === 'RESTORED') return [];
  const data = { petitionId, signatureIds: [...signatureIds], isLast: signatureIds.length < most };
  return [{ type: 'SignaturesRestored', data }];
}
