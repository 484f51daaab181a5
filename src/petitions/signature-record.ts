import { recordSchema, textOrNull, timestamp } from '#libs/rpc';
import { COMMENT_STATES, type CommentState } from './comment.js';
import { type Suspicion, SUSPICIONS } from '../confirmations/index.js';

export type SignatureAnswer = {
  /** null if remove-signature found none. */
  signatureId: string | null;
  petitionId: string;
  contactId: string;
  signatures: number;
  /** Only in the response of add-signature; null without `contact.consent`. */
  consentRecorded?: boolean | null;
};

const answer = {
  signatureId: { type: 'string' },
  petitionId: { type: 'string' },
  contactId: { type: 'string' },
  signatures: { type: 'integer', description: 'Number of valid signatures of the petition.' },
};

export const signatureAnswerSchema = recordSchema({
  ...answer,
  consentRecorded: {
    type: ['boolean', 'null'],
    description:
      'Whether `contact.consent` was recorded. Null if it was not sent. False if it agrees to email, but the contact ' +
      'has unsubscribed.',
  },
});
export const withdrawnAnswerSchema = recordSchema({
  ...answer,
  signatureId: { ...textOrNull, description: 'null if the contact has never signed.' },
});

/** An active signature as the API returns it. */
export type SignatureRecord = {
  id: string;
  createdAt: string;
  signedAt: string;
  petitionId: string;
  contactId: string | null;
  comment: string | null;
  commentState: CommentState | null;
  status: 'CONFIRMED' | 'PENDING' | 'INVALIDATED';
  invalidationId: string | null;
  source: string | null;
  suspicion: Suspicion[];
  language: string | null;
};

export const signatureSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  signedAt: {
    ...timestamp,
    description: 'When the person signed. Earlier than `createdAt` if the signature was imported.',
  },
  petitionId: { type: 'string' },
  contactId: {
    ...textOrNull,
    description: 'null until the signer confirms, and once the signer is erased.',
  },
  comment: textOrNull,
  commentState: {
    type: ['string', 'null'],
    enum: [...COMMENT_STATES, null],
    description:
      'Whether a team member showed (approved) or hid the public comment. `WAITING`: neither yet. The petition’s page then shows ' +
      'it only if `comments` of the petition is `SHOWN`. null if the signature has no public comment, or is not confirmed.',
  },
  status: { type: 'string', enum: ['CONFIRMED', 'PENDING', 'INVALIDATED'] },
  invalidationId: { ...textOrNull, description: 'The invalidation that excludes the signature.' },
  source: { ...textOrNull, description: 'The source that led the signer to the petition.' },
  suspicion: {
    type: 'array',
    items: { type: 'string', enum: SUSPICIONS },
    description: 'Why the signature should be reviewed.',
  },
  language: {
    ...textOrNull,
    description: 'The language in which the signer read the petition’s page. null: unknown.',
  },
});
