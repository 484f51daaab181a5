import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { momentAsText, ReadSource } from '#libs/database';
import { EventStore, type Past, wrappedKeyOf } from '#libs/event-store';
import { existedAt } from '#libs/links';
import { compare, findRows, type ListedTable } from '#libs/projections';
import {
  CreatedPageInput,
  Email,
  listingOf,
  OneOf,
  Operation,
  type Page,
  pageOf,
  PastRecord,
  rejectWithPast,
  Timestamp,
  until,
} from '#libs/rpc';
import { suppressionIdOf } from './suppression-id.js';
import { type SuppressionRecord, suppressionSchema } from './suppression-record.js';
import { isSuppressed, type Reason, REASONS, suppression } from './suppression.js';
import { SEALED_EMAIL, SUPPRESSION_PERIODS_TABLE, SUPPRESSIONS_TABLE } from './suppressions.projection.js';

@Operation({
  name: 'suppression.list-suppressions',
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

  @Timestamp({
    optional: true,
    description:
      'Returns the suppressions as they were at this time. Cannot be combined with `email` or `reason`.',
  })
  asOf?: string;
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

/** When addresses were suppressed. An address can have several periods, one after another. */
const PERIODS: ListedTable = {
  table: SUPPRESSION_PERIODS_TABLE,
  columns: `id, ${momentAsText('page.created_at')} AS created_at`,
  bytes: '16',
  widest: 100,
};

@QueryHandler(ListSuppressions)
export class ListSuppressionsHandler implements IQueryHandler<ListSuppressions> {
  constructor(
    private readonly reads: ReadSource,
    private readonly store: EventStore,
    private readonly records: RecordReader,
  ) {}

  async execute(
    query: ListSuppressions,
  ): Promise<Page<SuppressionRecord> | PastRecord<Page<SuppressionRecord>>> {
    rejectWithPast(query, ['email', 'reason']);
    const past = await this.records.past(query.asOf);
    if (past) return new PastRecord(await this.pastPage(query, past), past);
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

  private async pastPage(query: ListSuppressions, past: Past): Promise<Page<SuppressionRecord>> {
    const { organizationId } = query;
    const listing = until(listingOf(query), past);
    const active = {
      write: (bind: (value: unknown) => string) =>
        existedAt(`${bind(past.moment)}::timestamptz`, `${bind(past.position)}::bigint`),
    };
    const { rows, next } = await findRows<Row>(this.reads, listing, PERIODS, { conditions: [active] });
    const ids = rows.map(({ id }) => id);
    const then = await this.records.lookMany(suppression, organizationId, ids, past);
    const records = rows.flatMap(({ id, created_at: createdAt }) => {
      const state = then.get(id)?.state;
      if (!state || !isSuppressed(state)) return [];
      return [{ id, createdAt, reason: state.reasons[0]!, email: state.email, organizationId }];
    });
    return pageOf(query, records, next);
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
