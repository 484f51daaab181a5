import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { type ResourceRecord, Resources } from '#libs/resources';
import { search, SEARCH_RULE } from '#libs/projections';
import { Operation, type Page, PageInput, Text } from '#libs/rpc';
import { WebhookCursors } from './cursors.js';
import { webhooks, webhookSchema } from './webhooks.js';

@Operation({
  name: 'webhook.list-webhooks',
  summary: 'List webhooks',
  answers: webhookSchema,
  list: true,
})
export class ListWebhooks extends PageInput() {
  @Text({ max: 200, optional: true, description: `Part of the address. ${SEARCH_RULE}` })
  q?: string;
}

@QueryHandler(ListWebhooks)
export class ListWebhooksHandler implements IQueryHandler<ListWebhooks> {
  constructor(
    private readonly resources: Resources,
    private readonly cursors: WebhookCursors,
  ) {}

  async execute(query: ListWebhooks): Promise<Page<ResourceRecord>> {
    const { records, pagination } = await this.resources.list(webhooks, query, [search(['url'], query.q)]);
    return { records: await this.cursors.complete(query.organizationId, records), pagination };
  }
}
