import { type Decider } from '#libs/event-store';
import { noSuch } from '#libs/rpc';

/** Which signatures are meant: all that is given holds for each of them. */
export type InvalidationCondition = {
  createdAfter: string | null;
  createdBefore: string | null;
  emailDomain: string | null;
};

/** What is said once, at the beginning. */
type InvalidationBegun = {
  /** null: the signatures were named one by one. */
  condition: InvalidationCondition | null;
  /** Signatures at later positions of the log are not meant. */
  upTo: number;
  /** How many were meant. */
  matched: number;
};

/** `isLast`: nothing more comes. */
type SignaturesOfPage = { petitionId: string; signatureIds: string[]; isLast: boolean };

export type InvalidationEvent =
  | { type: 'SignaturesInvalidated'; data: SignaturesOfPage & Partial<InvalidationBegun> }
  | { type: 'SignaturesRestored'; data: SignaturesOfPage };

type InvalidationStatus = 'INVALIDATING' | 'INVALIDATED' | 'RESTORING' | 'RESTORED';

export type ExistingInvalidation = InvalidationBegun & {
  status: InvalidationStatus;
  petitionId: string;
  invalidated: number;
  restored: number;
  /** The last one that was invalidated: those of a page come in the order of their creation. */
  last: string | null;
};
export type Invalidation = { status: 'UNKNOWN' } | ExistingInvalidation;

/** Signatures of a petition that do not count, and may count again: page by page, because they may be any number. */
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

/** @throws RpcError NOT_FOUND unless there is one. */
export function existingInvalidation(state: Invalidation): ExistingInvalidation {
  if (state.status === 'UNKNOWN') throw noSuch('invalidation');
  return state;
}

/** The next signatures that do not count. @param most of a page: fewer are the last ones. */
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

/** The next signatures that count again. Restoring the restored changes nothing. @param most as of `invalidateMore`. */
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
