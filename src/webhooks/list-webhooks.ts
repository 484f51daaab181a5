import { Resources } from '#libs/resources';
import { search, SEARCH_RULE } from '#libs/projections';
import { handlerOf, Operation, PageInput, Text } from '#libs/rpc';
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

export const ListWebhooksHandler = handlerOf(
  ListWebhooks,
  [Resources, WebhookCursors],
  async (query, resources, cursors) => {
    const { records, pagination } = await resources.list(webhooks, query, [search(['url'], query.q)]);
    return { records: await cursors.complete(query.organizationId, records), pagination };
  },
);
