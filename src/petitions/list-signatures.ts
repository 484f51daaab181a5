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
    'Those that count; with `status` those that are still to be confirmed, or those that `petition.invalidate-signatures` has taken out. ' +
    'Withdrawn and expired ones are not shown.',
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
    description: `Part of the signer's name or e-mail address; nobody is found by theirs before they have confirmed. ${SEARCH_RULE}`,
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
