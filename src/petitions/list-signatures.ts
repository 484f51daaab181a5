import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { ReadSource } from '#libs/database';
import { EventStore } from '#libs/event-store';
import { findRows, SEARCH_RULE } from '#libs/projections';
import { Resources } from '#libs/resources';
import { CreatedPageInput, Id, listingOf, OneOf, Operation, type Page, pageOf, Text } from '#libs/rpc';
import { searchContacts } from '../contacts/index.js';
import { petitions } from './petitions.js';
import { type SignatureRecord, signatureSchema } from './signature-record.js';
import { signatureRecord, type SignatureRow, SIGNATURES } from './signature-rows.js';

@Operation({
  method: 'GET',
  name: 'petition.list-signatures',
  object: 'signatures',
  summary: 'List the signatures of a petition',
  description:
    'Returns valid signatures by default. With `status`, returns signatures awaiting confirmation, or those ' +
    'invalidated by `petition.invalidate-signatures`. Withdrawn and expired signatures are not included.',
  answers: signatureSchema,
  list: true,
  fieldScopes: { q: 'contact:read' },
})
export class ListSignatures extends CreatedPageInput() {
  @Id()
  petitionId!: string;

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
    private readonly reads: ReadSource,
    private readonly resources: Resources,
    private readonly store: EventStore,
  ) {}

  async execute(query: ListSignatures): Promise<Page<SignatureRecord>> {
    const { organizationId, petitionId, status = 'CONFIRMED', q } = query;
    await this.resources.require(petitions, organizationId, petitionId);
    const listing = { ...listingOf(query), within: petitionId };
    const { rows, next } = await findRows<SignatureRow>(this.reads, listing, SIGNATURES[status], {
      conditions: [searchContacts('subject_id', q)],
    });
    return pageOf(
      query,
      rows.map((row) => signatureRecord(row, petitionId, status, this.store)),
      next,
    );
  }
}
