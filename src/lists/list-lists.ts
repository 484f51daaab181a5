import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { ReadSource } from '#libs/database';
import { findRows, search, SEARCH_RULE } from '#libs/projections';
import { listingOf, Operation, type Page, PageInput, pageOf, Text } from '#libs/rpc';
import { type ListRecord, listSchema } from './list-record.js';
import { LISTS_TABLE, type ListRow, recordFromRow } from './lists.projection.js';

@Operation({
  method: 'GET',
  name: 'list.list-lists',
  object: 'lists',
  summary: 'List the lists',
  answers: listSchema,
  list: true,
})
export class ListLists extends PageInput('name') {
  @Text({ max: 200, optional: true, description: `Part of the name. ${SEARCH_RULE}` })
  q?: string;
}

@QueryHandler(ListLists)
export class ListListsHandler implements IQueryHandler<ListLists> {
  constructor(private readonly reads: ReadSource) {}

  async execute(query: ListLists): Promise<Page<ListRecord>> {
    const { rows, next } = await findRows<ListRow>(this.reads, listingOf(query), {
      table: LISTS_TABLE,
      bytes: 'bytes',
      sortColumns: { name: { column: 'name', type: 'text' } },
      conditions: [search(['name'], query.q)],
    });
    return pageOf(query, rows.map(recordFromRow), next);
  }
}
