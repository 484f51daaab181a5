import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { ReadSource } from '#libs/database';
import { EventStore } from '#libs/event-store';
import { LINK_BYTES, LINK_DETAIL, type LinkRow } from '#libs/links';
import { findRows } from '#libs/projections';
import { Resources } from '#libs/resources';
import { CreatedPageInput, Id, listingOf, Operation, type Page, pageOf } from '#libs/rpc';
import { petitions } from './petitions.js';
import { type SignatureRecord, signatureSchema } from './signature-record.js';

@Operation({
  method: 'GET',
  name: 'petition.list-signatures',
  object: 'signatures',
  summary: 'List the standing signatures of a petition',
  answers: signatureSchema,
  list: true,
})
export class ListSignatures extends CreatedPageInput() {
  @Id()
  petitionId!: string;
}

@QueryHandler(ListSignatures)
export class ListSignaturesHandler implements IQueryHandler<ListSignatures> {
  constructor(
    private readonly reads: ReadSource,
    private readonly resources: Resources,
    private readonly store: EventStore,
  ) {}

  async execute(query: ListSignatures): Promise<Page<SignatureRecord>> {
    const { organizationId, petitionId } = query;
    await this.resources.require(petitions, organizationId, petitionId);
    const { rows, next } = await findRows<LinkRow>(this.reads, listingOf(query), {
      table: petitions.linkTable!,
      bytes: LINK_BYTES,
      within: { sql: 'record_id = ? AND ended_at IS NULL', value: petitionId },
    });
    const sealed = rows.flatMap(({ subject_id, detail }) => (subject_id && detail ? [subject_id] : []));
    const openers = await this.store.unseal(organizationId, sealed);
    const records = rows.map(({ id, created_at, subject_id, detail }) => ({
      id,
      createdAt: created_at,
      petitionId,
      contactId: subject_id,
      // Also null for who was erased since the page was read.
      comment: subject_id && detail ? (openers.get(subject_id)?.(LINK_DETAIL, detail) ?? null) : null,
    }));
    return pageOf(query, records, next);
  }
}
