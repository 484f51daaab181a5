import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { ReadSource } from '#libs/database';
import { type Past } from '#libs/event-store';
import { findRows, type ListedTable, type RecordRow, search, SEARCH_RULE } from '#libs/projections';
import {
  listingOf,
  Operation,
  type Page,
  PageInput,
  pageOf,
  PastRecord,
  rejectWithPast,
  requireCreationOrder,
  Text,
  Timestamp,
  until,
} from '#libs/rpc';
import { apiKeyRecord, type ApiKeyRecord, apiKeySchema } from './api-key-record.js';
import { ApiKeyUse } from './api-key-use.js';
import { apiKey, type ApiKey } from './api-key.js';
import { API_KEYS_TABLE } from './api-keys.projection.js';

@Operation({
  name: 'api-key.list-api-keys',
  summary: 'List API keys',
  description: 'The list includes keys that have ended.',
  answers: apiKeySchema,
  list: true,
})
export class ListApiKeys extends PageInput('name') {
  @Text({ max: 200, optional: true, description: `Part of the name. ${SEARCH_RULE}` })
  q?: string;

  @Timestamp({
    optional: true,
    description:
      'Returns the keys as they were at this time, sorted by `createdAt`, with `lastUsedAt` null. Cannot ' +
      'be combined with `q`, `updatedAfter` or `updatedBefore`.',
  })
  asOf?: string;
}

const PAGE: ListedTable = {
  table: API_KEYS_TABLE,
  bytes: 'bytes',
  sortColumns: { name: { column: 'name', type: 'text' } },
};

@QueryHandler(ListApiKeys)
export class ListApiKeysHandler implements IQueryHandler<ListApiKeys> {
  constructor(
    private readonly reads: ReadSource,
    private readonly use: ApiKeyUse,
    private readonly records: RecordReader,
  ) {}

  async execute(query: ListApiKeys): Promise<Page<ApiKeyRecord> | PastRecord<Page<ApiKeyRecord>>> {
    rejectWithPast(query, ['q', 'updatedAfter', 'updatedBefore']);
    const past = await this.records.past(query.asOf);
    if (past) return new PastRecord(await this.pastPage(query, past), past);
    const conditions = [search(['name'], query.q)];
    const { rows, next } = await findRows<RecordRow<ApiKey>>(this.reads, listingOf(query), PAGE, {
      conditions,
    });
    const lastUses = await this.use.find(
      query.organizationId,
      rows.map(({ id }) => id),
    );
    const records = rows.map((row) => apiKeyRecord(row, lastUses.get(row.id) ?? null));
    return pageOf(query, records, next);
  }

  private async pastPage(query: ListApiKeys, past: Past): Promise<Page<ApiKeyRecord>> {
    requireCreationOrder(query);
    const { organizationId } = query;
    const { rows, next } = await findRows<RecordRow<ApiKey>>(this.reads, until(listingOf(query), past), PAGE);
    const ids = rows.map(({ id }) => id);
    const then = await this.records.lookMany(apiKey, organizationId, ids, past);
    const records = rows.flatMap(({ organization_id, id, created_at }) => {
      const state = then.get(id)?.state;
      if (!state || state.status === 'unknown') return [];
      return [apiKeyRecord({ organization_id, id, created_at, state }, null)];
    });
    return pageOf(query, records, next);
  }
}
