import { type RecordedEvent, type Upcasters } from '#libs/event-store';
import { type Facts } from '#libs/links';
import { type PrintedLinks } from '#libs/projections';
import { Resource } from '#libs/resources';
import {
  imageSchema,
  isId,
  listedSchema,
  recordSchema,
  recordVersion,
  textOrNull,
  timestamp,
} from '#libs/rpc';
import { endWithContacts, type Suspicion } from '../confirmations/index.js';
import { chooseContactsBy, contactLink } from '../contacts/index.js';
import { fields } from '../fields/index.js';
import { IMAGE_COLUMN, images, showImages } from '../images/index.js';
import { afterSigningSchema } from './after-signing.js';
import { COMMENT_STATE_AFTER, type CommentState } from './comment.js';
import { COMMENTS, exists, OUTCOMES, petition, STATUSES, updatePetition } from './petition.js';
import { asEarlier } from './petition-shapes.js';
import { type Appearance, type Requested, signatureRequests, unasked } from './signature-request.js';
import { type SignatureRecord } from './signature-record.js';
import { languageSchema } from './translations.js';

/** Stores the reasons to review a signature in one column, separated by commas, which PostgreSQL splits. */
const suspicionIn = ({ data }: RecordedEvent): string | null =>
  ((data.suspicion as string[] | undefined) ?? []).join(',') || null;

/** null: when the event was recorded. */
const momentOf = (signedAt: unknown): Date | null =>
  typeof signedAt === 'string' ? new Date(signedAt) : null;

/** Anything else would stop the projection. */
const idIn = (field: string) => ({
  type: 'uuid' as const,
  of: ({ data: { [field]: id } }: RecordedEvent) => (typeof id === 'string' && isId(id) ? id : null),
});

const FACTS: Facts = {
  source: { type: 'text', of: ({ data }) => (data.source as string | null | undefined) ?? null },
  suspicion: { type: 'text', of: suspicionIn },
  language: { type: 'text', of: ({ data }) => (data.language as string | null | undefined) ?? null },
};

const commentState = ({ data }: RecordedEvent): CommentState | null =>
  data.isCommentPublic === true ? 'WAITING' : null;

/** Signatures in a replay, as list-signatures returns them. */
const printed = (isPending: boolean): PrintedLinks => ({
  object: 'signature',
  facts(event) {
    const { signedAt, source, suspicion, language } = event.data;
    return { signedAt, source, suspicion, language, comment_state: isPending ? null : commentState(event) };
  },
  record({ id, createdAt, recordId, subjectId, detail, suspendedBy, facts }): SignatureRecord {
    const recorded = createdAt.toISOString();
    return {
      id,
      createdAt: recorded,
      signedAt: momentOf(facts.signedAt)?.toISOString() ?? recorded,
      petitionId: recordId,
      contactId: isPending ? null : subjectId,
      comment: detail,
      commentState: detail === null ? null : (facts.comment_state as CommentState | null),
      status: isPending ? 'PENDING' : suspendedBy === null ? 'CONFIRMED' : 'INVALIDATED',
      invalidationId: suspendedBy,
      source: facts.source as string | null,
      suspicion: facts.suspicion as Suspicion[],
      language: facts.language as string | null,
    };
  },
});

/** SQL: when the person signed. Never later than `created_at`, when the signature was recorded. */
export function signedAt(row: string): string {
  return `coalesce(${row}.signed_at, ${row}.created_at)`;
}

/** A contact's signature of a petition. Signatures of erased contacts still count, without a name. */
export const signature = contactLink({
  record: 'petition',
  streamType: 'signature',
  begins: 'PetitionSigned',
  ends: 'SignatureWithdrawn',
  moves: 'SignatureMoved',
  uniqueKey: 'petition.signature',
  atErasure: 'loses its name',
  detail: 'comment',
  suspended: { begins: 'SignaturesInvalidated', ends: 'SignaturesRestored', field: 'signatureIds' },
  settled: {
    fact: 'comment_state',
    field: 'signatureId',
    values: COMMENT_STATE_AFTER,
  },
  printed: printed(false),
  facts: {
    ...FACTS,
    signed_at: { type: 'timestamptz', of: ({ data }) => momentOf(data.signedAt) },
    comment_state: { type: 'text', of: commentState },
    appearance: { type: 'text', of: ({ data }) => (data.appearance as Appearance | undefined) ?? null },
    via: idIn('via'),
    broadcast_id: idIn('broadcastId'),
    client_networks: {
      type: 'text',
      isPersonal: true,
      of: ({ personal }) => (personal?.clientNetworks as string[] | undefined)?.join(' ') ?? null,
    },
  },
  indexes: (table) => `
    CREATE INDEX ${table}_public_comments ON ${table} (organization_id, record_id, comment_state, created_at, id)
      WHERE comment_state IS NOT NULL AND detail IS NOT NULL AND ended_at IS NULL;
    CREATE INDEX ${table}_suspicious ON ${table} (organization_id, record_id, created_at)
      WHERE suspicion IS NOT NULL;
    CREATE INDEX ${table}_recruited ON ${table} (organization_id, via) WHERE via IS NOT NULL;`,
});

/** Signatures awaiting confirmation. */
const pending = signatureRequests.links(FACTS, printed(true), ({ comment }) => comment);

type PetitionSignedEvent = {
  type: 'PetitionSigned';
  data: Omit<Requested, 'subscribe'> & {
    contactId: string;
    /** When the person signed, if that was before it was recorded, for example on paper. */
    signedAt: string | null;
    /** The broadcast whose personal link the signer followed, which proved the address. */
    broadcastId: string | null;
  };
};
type Signed = Omit<PetitionSignedEvent['data'], 'petitionId' | 'contactId'>;

/** The first petitions had no pages. */
export const signatureShapes: Upcasters = {
  PetitionSigned: {
    reads: [
      ({ data, personal }) => ({
        data: { ...data, source: null, suspicion: [], isCommentPublic: false },
        personal,
      }),
      ({ data, personal }) => ({ data: { ...data, signedAt: null }, personal }),
      ({ data, personal }) => ({
        data: { ...data, ...unasked(data), broadcastId: null },
        personal,
      }),
    ],
    writes: 'newest',
  },
};

/** A signature's data in its newest shape. @param known what is not the default */
export function signedWith(known: Partial<Signed>): Signed {
  const {
    source = null,
    suspicion = [],
    isCommentPublic = false,
    signedAt = null,
    broadcastId = null,
  } = known;
  const { appearance, via, language } = { ...unasked({ isCommentPublic }), ...known };
  return { source, suspicion, isCommentPublic, signedAt, broadcastId, appearance, via, language };
}

/** What a form asks for, with custom fields by their keys. */
export const formSchema = recordSchema({
  fields: {
    type: 'array',
    items: recordSchema({ field: { type: 'string' }, required: { type: 'boolean' } }),
  },
  consent: recordSchema({ text: textOrNull, required: { type: 'boolean' } }),
});

export const petitionSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  updatedAt: timestamp,
  version: recordVersion,
  name: { type: 'string' },
  title: { type: 'string' },
  goal: { type: 'integer' },
  target: textOrNull,
  description: textOrNull,
  ask: textOrNull,
  // Any text, before images could be stored.
  imageId: { ...textOrNull, format: undefined },
  signatures: { type: 'integer', description: 'Exact number of valid signatures.' },
  organizationId: { type: 'string' },
  status: { type: 'string', enum: STATUSES },
  image: imageSchema,
  content: { description: 'Any JSON.' },
  slug: { ...textOrNull, description: 'The path of its page; null: its id.' },
  url: {
    ...textOrNull,
    description: 'The URL of its page; null if the operator has disabled the public site.',
  },
  confirmation: { type: 'string', enum: ['EMAIL', 'NONE'] },
  closesAt: { type: ['string', 'null'], format: 'date-time' },
  publicComments: { type: 'boolean', description: 'Deprecated: see `comments`.' },
  formFields: {
    type: 'array',
    items: recordSchema({ fieldId: { type: 'string' }, required: { type: 'boolean' } }),
    description:
      'Deprecated: see `form`. The custom fields that the form asks for. Deleted ones are ignored.',
  },
  pendingSignatures: {
    type: 'integer',
    description: 'Exact number of signatures from its page that await confirmation.',
  },
  offlineSignatures: {
    type: 'integer',
    description:
      'Signatures on paper, see `petition.record-offline-signatures`. The page shows the sum with `signatures`.',
  },
  ...afterSigningSchema,
  comments: {
    type: 'string',
    enum: COMMENTS,
    description:
      'Which public comments its page shows. `SHOWN`: those that are not hidden; `APPROVED`: those that were shown by `petition.show-comment`.',
  },
  form: {
    ...formSchema,
    description:
      'The fields of the form on its page, in this order, next to the email address. A custom field is named by its key, ' +
      'or `fields.comment` if its key is `comment`.',
  },
  ...languageSchema,
  outcome: {
    type: ['string', 'null'],
    enum: [...OUTCOMES, null],
    description: 'The outcome of a closed petition.',
  },
  outcomeText: { ...textOrNull, description: 'Markdown that its page shows with the outcome.' },
});

/** Lists leave out the content. */
export const listedPetitionSchema = listedSchema(petitionSchema);

export const petitionIdSchema = recordSchema({ petitionId: { type: 'string' } });

/**
 * Erasure in tables of earlier projection versions. Deletes the comment but keeps the signer's id, which
 * those versions count by.
 */
const FORGET_COMMENTS = `
  UPDATE signatures s SET detail = NULL FROM unnest($1::uuid[], $2::uuid[]) AS e(organization_id, id)
  WHERE s.organization_id = e.organization_id AND s.subject_id = e.id AND s.detail IS NOT NULL`;

export const petitions = new Resource({
  object: 'petition',
  decider: petition,
  existing: (state) =>
    exists(state) ? { ...state, ...asEarlier(state), [IMAGE_COLUMN]: state.imageId } : undefined,
  answers: petitionSchema,
  version: 11,
  columns: {
    name: { type: 'text', index: true, search: true },
    title: { type: 'text', search: true },
    status: { type: 'text', index: true },
    [IMAGE_COLUMN]: { type: 'text', index: true },
    outcome: { type: 'text', index: true },
  },
  refers: { imageId: images, form: fields },
  apart: 'content',
  counts: { link: signature, field: 'signatures', table: 'signatures' },
  alsoCounts: { link: pending, field: 'pendingSignatures', table: 'pending_signatures' },
  hasSlug: true,
  erasure: {
    event: 'ContactErased',
    // Comments are encrypted; names belong to the contacts.
    inPlain: false,
    earlier: {
      1: FORGET_COMMENTS,
      2: FORGET_COMMENTS,
      3: FORGET_COMMENTS,
      4: FORGET_COMMENTS,
      5: FORGET_COMMENTS,
      6: FORGET_COMMENTS,
      7: FORGET_COMMENTS,
      8: FORGET_COMMENTS,
      9: FORGET_COMMENTS,
    },
  },
});

showImages(petitions, (state) => updatePetition(state, { imageId: null }));

chooseContactsBy(petitions, {
  filter: 'Only contacts who signed this petition.',
  members: 'who signed any of these petitions',
  condition: 'signed',
  began: signedAt('l'),
});

endWithContacts(signatureRequests, petitions);
