import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { ReadSource } from '#libs/database';
import { EventStore, type Past } from '#libs/event-store';
import { activeAt } from '#libs/links';
import { compare, type Condition, findRows, SEARCH_RULE } from '#libs/projections';
import { Resources } from '#libs/resources';
import {
  CreatedPageInput,
  Flag,
  Id,
  invalid,
  listingOf,
  OneOf,
  Operation,
  type Page,
  pageOf,
  PastRecord,
  rejectWithPast,
  Text,
  Timestamp,
  until,
} from '#libs/rpc';
import {
  contact,
  existingContact,
  exportWithPersons,
  includeInContacts,
  searchContacts,
} from '../contacts/index.js';
import { COMMENT_STATES, comment, commentId, type CommentState } from './comment.js';
import { petitions, signature } from './petitions.js';
import { type SignatureRecord, signatureSchema } from './signature-record.js';
import {
  PAST_SIGNATURES,
  signatureRecord,
  type SignatureRow,
  SIGNATURES,
  SIGNATURES_BY_COMMENT,
  SIGNATURES_OF_CONTACT,
} from './signature-rows.js';

@Operation({
  name: 'petition.list-signatures',
  summary: 'List the signatures of a petition or a contact',
  description:
    'Send `petitionId`, `contactId` or both. Returns valid signatures by default. With `status`, returns ' +
    'signatures awaiting confirmation, or those invalidated by `petition.invalidate-signatures`. Withdrawn ' +
    'and expired signatures are not included. With `asOf`, returns the signatures of a petition that were ' +
    'valid or pending at that time. Comments of people who have since been erased are null.',
  answers: signatureSchema,
  list: true,
  reasons: ['MERGED'],
  fieldScopes: { q: 'contact:read' },
})
export class ListSignatures extends CreatedPageInput() {
  @Id({ optional: true, description: 'Required without `contactId`.' })
  petitionId?: string;

  @Id({ optional: true, description: 'Only the signatures of this contact.' })
  contactId?: string;

  @OneOf(Object.keys(SIGNATURES), { optional: true, documentedDefault: 'CONFIRMED' })
  status?: SignatureRecord['status'];

  @OneOf(COMMENT_STATES, {
    optional: true,
    description:
      'Only signatures whose public comment has this state. Requires `status` `CONFIRMED`, which is the default.',
  })
  commentState?: CommentState;

  @Flag({
    optional: true,
    description: '`true`: only suspicious signatures. `false`: only the others.',
  })
  suspicious?: boolean;

  @Text({
    max: 200,
    optional: true,
    description: `Part of the signer's name or email address. Signers are found only after they have confirmed. ${SEARCH_RULE}`,
  })
  q?: string;

  @Timestamp({
    optional: true,
    description:
      'Returns the signatures as they were at this time. Requires `petitionId`. Cannot be combined with ' +
      '`commentState`, `contactId`, `q`, `suspicious` or `status` `INVALIDATED`.',
  })
  asOf?: string;
}

@QueryHandler(ListSignatures)
export class ListSignaturesHandler implements IQueryHandler<ListSignatures> {
  constructor(
    readonly reads: ReadSource,
    private readonly resources: Resources,
    readonly store: EventStore,
    private readonly records: RecordReader,
  ) {}

  async execute(query: ListSignatures): Promise<Page<SignatureRecord> | PastRecord<Page<SignatureRecord>>> {
    const { organizationId, petitionId, contactId, q } = query;
    rejectWithPast(query, [
      'commentState',
      'contactId',
      'q',
      'suspicious',
      ...(query.status === 'INVALIDATED' ? (['status'] as const) : []),
    ]);
    const past = await this.records.past(query.asOf);
    if (past) return new PastRecord(await this.pastPage(query, past), past);
    if (petitionId !== undefined) await this.resources.require(petitions, organizationId, petitionId);
    if (contactId !== undefined)
      existingContact((await this.records.look(contact, organizationId, contactId)).state);
    return signaturePage(this, query, [searchContacts('subject_id', q)]);
  }

  private async pastPage(query: ListSignatures, past: Past): Promise<Page<SignatureRecord>> {
    const { organizationId, petitionId, status = 'CONFIRMED' } = query;
    if (petitionId === undefined) throw invalid([{ path: 'petitionId', message: 'is required with asOf' }]);
    petitions.existing((await this.records.look(petitions.decider, organizationId, petitionId, past)).state);
    const isPending = status === 'PENDING';
    const list = PAST_SIGNATURES[isPending ? 'PENDING' : 'CONFIRMED'];
    const { rows, next } = await findRows<SignatureRow>(
      this.reads,
      { ...until(listingOf(query), past), within: petitionId },
      list,
      { conditions: [activeAt(list.table, !isPending, past)] },
    );
    // The row contains the contact who has the signature now: another one after a merge, none after an erasure.
    const ids = isPending ? [] : rows.map(({ id }) => id);
    const then = await this.records.lookMany(signature.decider, organizationId, ids, past);
    const signers = new Map<string, string>();
    for (const [id, { state }] of then) if (state.status !== 'unknown') signers.set(id, state.subjectId);
    const nameless = rows.flatMap(({ id, subject_id }) =>
      subject_id === null ? [signers.get(id) ?? id] : [],
    );
    const erased = await this.records.lookMany(contact, organizationId, isPending ? [] : nameless, past);
    const reviewed = await this.records.lookMany(comment, organizationId, ids.map(commentId), past);
    const records = rows.map((row) => {
      const signer = signers.get(row.id);
      const isGone =
        signer === undefined || (erased.has(signer) && erased.get(signer)!.state.status !== 'standing');
      const record = signatureRecord(
        {
          ...row,
          suspended_by: null,
          comment_state: row.comment_state && (reviewed.get(commentId(row.id))?.state ?? comment.initial),
        },
        status,
        this.store,
      );
      return { ...record, contactId: isGone ? null : signer };
    });
    return pageOf(query, records, next);
  }
}

/** A page of the signatures of a petition, a contact, or both. */
async function signaturePage(
  { reads, store }: { reads: ReadSource; store: EventStore },
  query: Omit<ListSignatures, 'context'>,
  conditions: readonly (Condition | undefined)[] = [],
): Promise<Page<SignatureRecord>> {
  const { petitionId, contactId, status = 'CONFIRMED', commentState, suspicious } = query;
  const within = contactId ?? petitionId;
  if (within === undefined)
    throw invalid([{ path: 'petitionId', message: 'or contactId is required: send one of them, or both' }]);
  if (commentState !== undefined && status !== 'CONFIRMED')
    throw invalid([{ path: 'commentState', message: 'requires the status CONFIRMED: leave out status' }]);
  const ofAll = commentState === undefined ? SIGNATURES[status] : SIGNATURES_BY_COMMENT[commentState];
  const table = contactId === undefined ? ofAll : SIGNATURES_OF_CONTACT[status];
  const hasComment =
    contactId === undefined ? undefined : compare('detail IS NOT NULL AND comment_state = ?', commentState);
  const isSuspicious = compare('(suspicion IS NOT NULL) = ?', suspicious);
  const ofPetition = contactId === undefined ? undefined : compare('record_id = ?', petitionId);
  const { rows, next } = await findRows<SignatureRow>(reads, { ...listingOf(query), within }, table, {
    conditions: [ofPetition && { ...ofPetition, selective: true }, hasComment, isSuspicious, ...conditions],
  });
  return pageOf(
    query,
    rows.map((row) => signatureRecord(row, status, store)),
    next,
  );
}

/** Valid signatures are a part of the contact, and exported as such. */
exportWithPersons('invalidatedSignatures', async function* (from, { organizationId, contactId }) {
  let cursor: string | null | undefined;
  do {
    const status = 'INVALIDATED';
    const query = {
      organizationId,
      contactId,
      status,
      limit: 100,
      sort: '-createdAt',
      ...(cursor ? { cursor } : {}),
    } as const;
    const { records, pagination } = await signaturePage(from, query);
    yield records;
    ({ cursor } = pagination);
  } while (cursor);
});

includeInContacts('signatures', {
  scope: 'petition:read',
  schema: signatureSchema,
  page: (from, query) => signaturePage(from, { ...query, sort: '-createdAt' }),
});
