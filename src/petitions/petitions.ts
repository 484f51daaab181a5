import { type Upcasters } from '#libs/event-store';
import { Resource } from '#libs/resources';
import { imageSchema, recordSchema, schemaWithout, textOrNull, timestamp } from '#libs/rpc';
import { chooseContactsBy, contactLink } from '../contacts/index.js';
import { IMAGE_COLUMN, images, showImages } from '../images/index.js';
import { isStanding, petition, updatePetition } from './petition.js';

/** A contact's signature under a petition. Those of the erased stay counted, without a name. */
export const signature = contactLink({
  record: 'petition',
  streamType: 'signature',
  begins: 'PetitionSigned',
  ends: 'SignatureWithdrawn',
  uniqueKey: 'petition.signature',
  atErasure: 'loses its name',
  detail: 'comment',
  suspended: { begins: 'SignaturesInvalidated', ends: 'SignaturesRestored', field: 'signatureIds' },
});

/**
 * Signatures of the time before there was a page to sign on. `source`: what led the signer there; `suspicion`: why somebody had to
 * look at it; `clientAddress` may be among what is personal.
 */
export const signatureShapes: Upcasters = {
  PetitionSigned: {
    reads: [
      ({ data, personal }) => ({
        data: { ...data, source: null, suspicion: [], isCommentPublic: false },
        personal,
      }),
    ],
    writes: {
      asBefore: ({
        data: { source: _source, suspicion: _suspicion, isCommentPublic: _public, ...data },
        personal,
      }) => ({ data, personal }),
    },
  },
};

export const petitionSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  updatedAt: timestamp,
  name: { type: 'string' },
  title: { type: 'string' },
  goal: { type: 'integer' },
  target: textOrNull,
  description: textOrNull,
  ask: textOrNull,
  imageId: textOrNull,
  signatures: { type: 'integer', description: 'The exact number of standing signatures.' },
  organizationId: { type: 'string' },
  status: { type: 'string', enum: ['DRAFT', 'PUBLISHED', 'CLOSED'] },
  image: imageSchema,
  content: { description: 'Any JSON.' },
});

/** Of an element of a list. */
export const listedPetitionSchema = schemaWithout(petitionSchema, 'content');

export const petitionIdSchema = recordSchema({ petitionId: { type: 'string' } });

/** Whose signature it was, the earlier version itself still counts with. */
const FORGET_COMMENTS = `
  UPDATE signatures s SET detail = NULL FROM unnest($1::uuid[], $2::uuid[]) AS e(organization_id, id)
  WHERE s.organization_id = e.organization_id AND s.subject_id = e.id AND s.detail IS NOT NULL`;

export const petitions = new Resource({
  object: 'petition',
  decider: petition,
  standing: (state) => (isStanding(state) ? { ...state, [IMAGE_COLUMN]: state.imageId } : undefined),
  answers: petitionSchema,
  version: 5,
  columns: {
    name: { type: 'text', index: true, search: true },
    title: { type: 'text', search: true },
    status: { type: 'text', index: true },
    [IMAGE_COLUMN]: { type: 'text', index: true },
  },
  refers: { imageId: images },
  apart: 'content',
  counts: { link: signature, field: 'signatures', table: 'signatures' },
  erasure: {
    event: 'ContactErased',
    // Comments are sealed, names are the contacts'.
    inPlain: false,
    earlier: { 1: FORGET_COMMENTS, 2: FORGET_COMMENTS, 3: FORGET_COMMENTS, 4: FORGET_COMMENTS },
  },
});

showImages(petitions, (state) => updatePetition(state, { imageId: null }));

chooseContactsBy(petitions, 'Only the contacts who have signed this petition.');
