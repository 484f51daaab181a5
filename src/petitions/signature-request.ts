import { type Decider } from '#libs/event-store';

/**
 * Why somebody should look at a signature: the field that people do not see was filled in; many came from the signer's network, or to
 * the petition, at once; the proof of work was missing.
 */
export const SUSPICIONS = ['HONEYPOT', 'MANY_FROM_NETWORK', 'MANY_AT_ONCE', 'NO_PROOF_OF_WORK'] as const;
export type Suspicion = (typeof SUSPICIONS)[number];

/** Days in which a signature is confirmed; then all that it said is destroyed. */
export const DAYS_TO_CONFIRM = 7;

/** What somebody has written on a petition's page. */
export type SignerDetails = {
  email: string;
  firstName: string | null;
  lastName: string | null;
  zip: string | null;
  country: string | null;
  comment: string | null;
  clientAddress: string | null;
};

export type Requested = {
  petitionId: string;
  source: string | null;
  suspicion: Suspicion[];
  isCommentPublic: boolean;
  /** Whether they want to hear from the organization. */
  subscribe: boolean;
};

/**
 * TIME: nobody confirmed it. ASKED_AGAIN: `by` stands in its place. SIGNED_BEFORE: it would be the second one of a person. ERASED: the
 * person was, who had written it. PETITION_DELETED: nothing can become of it.
 */
export type ExpiryReason = 'TIME' | 'ASKED_AGAIN' | 'SIGNED_BEFORE' | 'ERASED' | 'PETITION_DELETED';

export type SignatureRequestEvent =
  | { type: 'SignatureRequested'; data: Requested; personal: SignerDetails | null }
  | { type: 'SignatureConfirmed'; data: { petitionId: string; signatureId: string } }
  | { type: 'SignatureExpired'; data: { petitionId: string; reason: ExpiryReason; by: string | null } };

/** `signer`: null once it was destroyed. */
export type SignatureRequest =
  | { status: 'UNKNOWN' }
  | (Requested & { status: 'PENDING'; signer: SignerDetails | null })
  | { status: 'CONFIRMED'; petitionId: string; signatureId: string }
  | { status: 'EXPIRED'; petitionId: string; reason: ExpiryReason; by: string | null };

/**
 * A signature that waits for its confirmation: a stream of its own, whose personal data has its own key. Nobody is a contact by it,
 * and nothing of it is left when it ends.
 */
export const signatureRequest: Decider<SignatureRequest, SignatureRequestEvent> = {
  streamType: 'signature-request',
  initial: { status: 'UNKNOWN' },
  events: { SignatureRequested: true, SignatureConfirmed: true, SignatureExpired: true },
  evolve(state, event) {
    switch (event.type) {
      case 'SignatureRequested':
        return { status: 'PENDING', ...event.data, signer: event.personal };
      case 'SignatureConfirmed':
        return { status: 'CONFIRMED', ...event.data };
      case 'SignatureExpired':
        return state.status === 'PENDING' ? { status: 'EXPIRED', ...event.data } : state;
    }
  },
};

/** What is over is over. */
export function expireRequest(
  state: SignatureRequest,
  reason: ExpiryReason,
  by: string | null = null,
): SignatureRequestEvent[] {
  if (state.status !== 'PENDING') return [];
  return [{ type: 'SignatureExpired', data: { petitionId: state.petitionId, reason, by } }];
}

export function confirmRequest(state: SignatureRequest, signatureId: string): SignatureRequestEvent[] {
  if (state.status !== 'PENDING') return [];
  return [{ type: 'SignatureConfirmed', data: { petitionId: state.petitionId, signatureId } }];
}
