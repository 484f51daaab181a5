import { type Decider } from '#libs/event-store';

/**
 * A contact's signature under a petition: a stream of its own, so that a million signers never wait for
 * each other. That each contact has one standing signature at most, a unique key holds.
 */
export type SignatureEvent =
  | {
      type: 'PetitionSigned';
      data: { petitionId: string; contactId: string };
      personal: { comment: string } | null;
    }
  | { type: 'SignatureWithdrawn'; data: { petitionId: string; contactId: string } };

export type Signature =
  { status: 'unknown' } | { status: 'standing' | 'withdrawn'; petitionId: string; contactId: string };

export const signature: Decider<Signature, SignatureEvent> = {
  streamType: 'signature',
  initial: { status: 'unknown' },
  events: { PetitionSigned: true, SignatureWithdrawn: true },
  evolve(state, event) {
    switch (event.type) {
      case 'PetitionSigned':
        return { status: 'standing', ...event.data };
      case 'SignatureWithdrawn':
        return state.status === 'unknown' ? state : { ...state, status: 'withdrawn' };
    }
  },
};

export function signPetition(
  petitionId: string,
  contactId: string,
  comment: string | null,
): SignatureEvent[] {
  return [
    {
      type: 'PetitionSigned',
      data: { petitionId, contactId },
      personal: comment === null ? null : { comment },
    },
  ];
}

export function withdrawSignature(state: Signature): SignatureEvent[] {
  if (state.status !== 'standing') return [];
  const { petitionId, contactId } = state;
  return [{ type: 'SignatureWithdrawn', data: { petitionId, contactId } }];
}

/** One standing signature per contact and petition. */
export function signatureKey(petitionId: string, contactId: string): string[] {
  return ['petition.signature', petitionId, contactId];
}
