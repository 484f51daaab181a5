import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { compare, search, SEARCH_RULE } from '#libs/projections';
import { Resources } from '#libs/resources';
import { OneOf, Operation, type Page, PageInput, Text } from '#libs/rpc';
import { BroadcastFigures, type BroadcastRecord } from './broadcast-figures.js';
import { STATUSES } from './broadcast.js';
import { broadcasts, listedBroadcastSchema } from './broadcasts.js';

@Operation({
  name: 'broadcast.list-broadcasts',
  summary: 'List broadcasts',
  answers: listedBroadcastSchema,
  list: true,
})
export class ListBroadcasts extends PageInput('name') {
  @OneOf(STATUSES, { optional: true })
  status?: string;

  @Text({ max: 200, optional: true, description: `Part of the name or the subject. ${SEARCH_RULE}` })
  q?: string;

  @OneOf(['content'], {
    optional: true,
    description: 'Includes fields that are left out by default because they are long.',
  })
  include?: 'content';
}

@QueryHandler(ListBroadcasts)
export class ListBroadcastsHandler implements IQueryHandler<ListBroadcasts> {
  constructor(
    private readonly resources: Resources,
    private readonly figures: BroadcastFigures,
  ) {}

  async execute(query: ListBroadcasts): Promise<Page<BroadcastRecord>> {
    const { status, q } = query;
    const conditions = [compare('status = ?', status), search(['name', 'subject'], q)];
    const page = await this.resources.list(broadcasts, query, conditions);
    return { ...page, records: await this.figures.ofAll(page.records) };
  }
}
