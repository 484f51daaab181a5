import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { ReadSource } from '#libs/database';
import { EventStore } from '#libs/event-store';
import { compare, type Condition, findRows, SEARCH_RULE } from '#libs/projections';
import { Resources } from '#libs/resources';
import {
  CreatedPageInput,
  Id,
  invalid,
  listingOf,
  OneOf,
  Operation,
  type Page,
  pageOf,
  Text,
} from '#libs/rpc';
import {
  contact,
  existingContact,
  exportWithPersons,
  includeInContacts,
  searchContacts,
} from '../contacts/index.js';
import { petitions } from './petitions.js';
import { type SignatureRecord, signatureSchema } from './signature-record.js';
import { signatureRecord, type SignatureRow, SIGNATURES, SIGNATURES_OF_CONTACT } from './signature-rows.js';

@Operation({
  method: 'GET',
  name: 'petition.list-signatures',
  object: 'signatures',
  summary: 'List the signatures of a petition or a contact',
  description:
    'Send `petitionId`, `contactId` or both. Returns valid signatures by default. With `status`, returns signatures awaiting confirmation, or those ' +
    'invalidated by `petition.invalidate-signatures`. Withdrawn and expired signatures are not included.',
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

  @Text({
    max: 200,
    optional: true,
    description: `Part of the signer's name or email address. Signers are found only after they have confirmed. ${SEARCH_RULE}`,
  })
  q?: string;
}

@QueryHandler(ListSignatures)
export class ListSignaturesHandler implements IQueryHandler<ListSignatures> {
  constructor(
    readonly reads: ReadSource,
    private readonly resources: Resources,
    readonly store: EventStore,
    private readonly records: RecordReader,
  ) {}

  async execute(query: ListSignatures): Promise<Page<SignatureRecord>> {
    const { organizationId, petitionId, contactId, q } = query;
    if (petitionId !== undefined) await this.resources.require(petitions, organizationId, petitionId);
    if (contactId !== undefined)
      existingContact((await this.records.look(contact, organizationId, contactId)).state);
    return signaturePage(this, query, [searchContacts('subject_id', q)]);
  }
}

/** A page of the signatures of a petition, a contact, or both. */
async function signaturePage(
  { reads, store }: { reads: ReadSource; store: EventStore },
  query: Omit<ListSignatures, 'context'>,
  conditions: readonly (Condition | undefined)[] = [],
): Promise<Page<SignatureRecord>> {
  const { petitionId, contactId, status = 'CONFIRMED' } = query;
  const within = contactId ?? petitionId;
  if (within === undefined)
    throw invalid([{ path: 'petitionId', message: 'or contactId is required: send one of them, or both' }]);
  const table = contactId === undefined ? SIGNATURES : SIGNATURES_OF_CONTACT;
  const ofPetition = contactId === undefined ? undefined : compare('record_id = ?', petitionId);
  const { rows, next } = await findRows<SignatureRow>(reads, { ...listingOf(query), within }, table[status], {
    conditions: [ofPetition && { ...ofPetition, selective: true }, ...conditions],
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
