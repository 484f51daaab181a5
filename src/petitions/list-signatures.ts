import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { momentAsText, ReadSource } from '#libs/database';
import { EventStore, wrappedKeyOf } from '#libs/event-store';
import { LINK_BYTES, LINK_DETAIL, type LinkRow, WIDEST_LINK } from '#libs/links';
import { findRows, type ListedTable } from '#libs/projections';
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

/** `wrapped_key`: to the detail. */
type SignatureRow = Pick<LinkRow, 'id' | 'subject_id' | 'detail'> & {
  created_at: string;
  wrapped_key: Buffer | null;
};

const PAGE: ListedTable = {
  table: petitions.linkTable!,
  columns: `id, ${momentAsText('page.created_at')} AS created_at, subject_id, detail,
    CASE WHEN detail IS NOT NULL THEN ${wrappedKeyOf('page', 'subject_id')} END AS wrapped_key`,
  bytes: LINK_BYTES,
  widest: WIDEST_LINK,
  within: { sql: 'record_id = ? AND ended_at IS NULL', type: 'uuid' },
};

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
    const listing = { ...listingOf(query), within: petitionId };
    const { rows, next } = await findRows<SignatureRow>(this.reads, listing, PAGE);
    const records = rows.map(({ id, created_at, subject_id, detail, wrapped_key }) => ({
      id,
      createdAt: created_at,
      petitionId,
      contactId: subject_id,
      comment:
        subject_id && detail && wrapped_key
          ? this.store.opener(subject_id, wrapped_key)(LINK_DETAIL, detail)
          : null,
    }));
    return pageOf(query, records, next);
  }
}
