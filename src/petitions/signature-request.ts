import { type JsonObject, type Upcasters } from '#libs/event-store';
import { type PersonDetails, RequestKind, type Suspicion } from '../confirmations/index.js';
import { requestKey } from './mailbox-keys.js';

/** How a petition's page names a signer. NONE: not at all, so no comment is public either. */
export const APPEARANCES = ['NONE', 'FIRST_NAME', 'FULL_NAME'] as const;
export type Appearance = (typeof APPEARANCES)[number];

/** The signer's input on a petition's page. */
export type SignerDetails = PersonDetails & { comment: string | null };

export type Requested = {
  petitionId: string;
  /** What led the signer to the page: `source` of its address. */
  source: string | null;
  /** Why to review the signature. */
  suspicion: Suspicion[];
  isCommentPublic: boolean;
  /** Whether the signer subscribes to the organization's emails. */
  subscribe: boolean;
  /** How the page names the signer. */
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

/** Details that no form asked for until then. */
const NOT_ASKED_FOR = { city: null, region: null, phone: null };

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

type SignatureRequestedEvent = { type: 'SignatureRequested'; data: Requested; personal: SignerDetails };

/** Signatures that await confirmation. */
export const signatureRequests = new RequestKind<
  SignatureRequestedEvent['data'],
  SignatureRequestedEvent['personal']
>({
  streamType: 'signature-request',
  requested: 'SignatureRequested',
  confirmed: 'SignatureConfirmed',
  expired: 'SignatureExpired',
  recordField: 'petitionId',
  resultField: 'signatureId',
  person: 'signer',
  exported: 'pendingSignatures',
  purpose: 'confirm signature',
  timer: 'signature-expiry',
  key: requestKey,
  recordDeleted: 'PETITION_DELETED',
});
