import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { ReadSource } from '#libs/database';
import { findRows, type ListedTable, type RecordRow, search, SEARCH_RULE } from '#libs/projections';
import { listingOf, Operation, type Page, PageInput, pageOf, Text } from '#libs/rpc';
import { apiKeyRecord, type ApiKeyRecord, apiKeySchema } from './api-key-record.js';
import { ApiKeyUse } from './api-key-use.js';
import { type ApiKey } from './api-key.js';
import { API_KEYS_TABLE } from './api-keys.projection.js';

@Operation({
  method: 'GET',
  name: 'api-key.list-api-keys',
  object: 'api-keys',
  summary: 'List API keys',
  description: 'The list includes keys that have ended.',
  answers: apiKeySchema,
  list: true,
})
export class ListApiKeys extends PageInput('name') {
  @Text({ max: 200, optional: true, description: `Part of the name. ${SEARCH_RULE}` })
  q?: string;
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
  ) {}

  async execute(query: ListApiKeys): Promise<Page<ApiKeyRecord>> {
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
}
