import { type Decider, type JsonObject, type Upcasters } from '#libs/event-store';
import { type CustomValue } from '../fields/index.js';

/**
 * Reasons to review a signature: the hidden field was filled in; many signatures came from the same network,
 * or for the petition, within a short time; the proof of work was missing.
 */
export const SUSPICIONS = ['HONEYPOT', 'MANY_FROM_NETWORK', 'MANY_AT_ONCE', 'NO_PROOF_OF_WORK'] as const;
export type Suspicion = (typeof SUSPICIONS)[number];

/** Days to confirm a signature. Afterwards its data is destroyed. */
export const DAYS_TO_CONFIRM = 7;

/** How a petition's page names a signer. NONE: not at all, so no comment is public either. */
export type Appearance = 'FULL_NAME' | 'FIRST_NAME' | 'NONE';

/** The signer's input on a petition's page. */
export type SignerDetails = {
  email: string;
  firstName: string | null;
  lastName: string | null;
  zip: string | null;
  city: string | null;
  region: string | null;
  country: string | null;
  phone: string | null;
  comment: string | null;
  clientAddress: string | null;
  /** Values of custom fields by the id of the field. */
  customFields: { [fieldId: string]: CustomValue };
};

export type Requested = {
  petitionId: string;
  source: string | null;
  suspicion: Suspicion[];
  isCommentPublic: boolean;
  /** Whether the signer subscribes to the organization's emails. */
  subscribe: boolean;
  appearance: Appearance;
  /** The signature whose share link led the signer there. */
  via: string | null;
  /** The language of the page. null: unknown. */
  language: string | null;
};

/**
 * The values of signers who were not asked. Their page showed the first name next to a public comment, and named
 * no one else.
 */
export function unasked({ isCommentPublic }: JsonObject): Pick<Requested, 'appearance' | 'via' | 'language'> {
  return { appearance: isCommentPublic === true ? 'FIRST_NAME' : 'NONE', via: null, language: null };
}

/** Details that no form asked for. */
export const NOT_ASKED_FOR = { city: null, region: null, phone: null };

/**
 * TIME: it was not confirmed. ASKED_AGAIN: `by` replaces it. SIGNED_BEFORE: the same person has signed.
 * ERASED: the signer was erased. PETITION_DELETED: it can no longer be confirmed.
 */
export type ExpiryReason = 'TIME' | 'ASKED_AGAIN' | 'SIGNED_BEFORE' | 'ERASED' | 'PETITION_DELETED';

export type SignatureRequestEvent =
  | { type: 'SignatureRequested'; data: Requested; personal: SignerDetails | null }
  | { type: 'SignatureConfirmed'; data: { petitionId: string; signatureId: string } }
  | { type: 'SignatureExpired'; data: { petitionId: string; reason: ExpiryReason; by: string | null } };

/** Earlier releases would confirm a signature without its newer details. */
export const signatureRequestShapes: Upcasters = {
  SignatureRequested: {
    reads: [
      ({ data, personal }) => ({ data, personal: personal && { ...personal, customFields: {} } }),
      ({ data, personal }) => ({
        data: { ...data, ...unasked(data) },
        personal: personal && { ...personal, ...NOT_ASKED_FOR },
      }),
    ],
    writes: 'newest',
  },
};

/** `signer`: null once destroyed. */
export type SignatureRequest =
  | { status: 'UNKNOWN' }
  | (Requested & { status: 'PENDING'; signer: SignerDetails | null })
  | { status: 'CONFIRMED'; petitionId: string; signatureId: string }
  | { status: 'EXPIRED'; petitionId: string; reason: ExpiryReason; by: string | null };

/**
 * A signature awaiting confirmation. It has its own stream, and its personal data has its own key. It creates
 * no contact and leaves no data when it ends.
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

/** Ended requests stay unchanged. */
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
