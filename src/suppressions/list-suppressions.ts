import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { momentAsText, ReadSource } from '#libs/database';
import { EventStore, wrappedKeyOf } from '#libs/event-store';
import { compare, findRows, type ListedTable } from '#libs/projections';
import { CreatedPageInput, Email, listingOf, OneOf, Operation, type Page, pageOf } from '#libs/rpc';
import { suppressionIdOf } from './suppression-id.js';
import { type SuppressionRecord, suppressionSchema } from './suppression-record.js';
import { type Reason, REASONS } from './suppression.js';
import { SEALED_EMAIL, SUPPRESSIONS_TABLE } from './suppressions.projection.js';

@Operation({
  method: 'GET',
  name: 'suppression.list-suppressions',
  object: 'suppressions',
  summary: 'List suppressions',
  description: 'With `email`, this also finds suppressions of erased contacts, whose address is null.',
  answers: suppressionSchema,
  list: true,
})
export class ListSuppressions extends CreatedPageInput() {
  @Email({ optional: true, description: 'Compared as in create-contact.' })
  email?: string;

  @OneOf(REASONS, { optional: true, description: 'The first of the current reasons.' })
  reason?: Reason;
}

type Row = {
  id: string;
  organization_id: string;
  created_at: string;
  reason: Reason;
  subject_id: string | null;
  sealed_email: Buffer | null;
  wrapped_key: Buffer | null;
};

const PAGE: ListedTable = {
  table: SUPPRESSIONS_TABLE,
  columns: `id, organization_id, ${momentAsText('page.created_at')} AS created_at, reason, subject_id, sealed_email,
    CASE WHEN sealed_email IS NOT NULL THEN ${wrappedKeyOf('page', 'subject_id')} END AS wrapped_key`,
  bytes: 'coalesce(octet_length(sealed_email), 0)',
  // An address has at most 254 characters.
  widest: 4 * 254 + 100,
};

@QueryHandler(ListSuppressions)
export class ListSuppressionsHandler implements IQueryHandler<ListSuppressions> {
  constructor(
    private readonly reads: ReadSource,
    private readonly store: EventStore,
  ) {}

  async execute(query: ListSuppressions): Promise<Page<SuppressionRecord>> {
    const { organizationId, email, reason } = query;
    const id = email && suppressionIdOf(this.store.keyring, organizationId, email);
    const conditions = [
      id === undefined ? undefined : { sql: 'id = ?', value: id, selective: true },
      compare('reason = ?', reason),
    ];
    const { rows, next } = await findRows<Row>(this.reads, listingOf(query), PAGE, { conditions });
    return pageOf(
      query,
      rows.map((row) => this.record(row)),
      next,
    );
  }

  private record({ subject_id, sealed_email, wrapped_key, ...row }: Row): SuppressionRecord {
    const isReadable = subject_id !== null && sealed_email !== null && wrapped_key !== null;
    return {
      id: row.id,
      createdAt: row.created_at,
      reason: row.reason,
      email: isReadable ? this.store.opener(subject_id, wrapped_key)(SEALED_EMAIL, sealed_email) : null,
      organizationId: row.organization_id,
    };
  }
}
