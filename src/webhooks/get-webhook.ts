import { Resources } from '#libs/resources';
import { handlerOf, Operation, PastRecord, RecordInput, Timestamp } from '#libs/rpc';
import { WebhookCursors } from './cursors.js';
import { webhooks, webhookSchema } from './webhooks.js';

@Operation({
  name: 'webhook.get-webhook',
  summary: 'Retrieve a webhook',
  description:
    'Returns its progress and the result of its last attempt. For earlier attempts, use webhook.list-deliveries.',
  answers: webhookSchema,
})
export class GetWebhook extends RecordInput('webhookId') {
  @Timestamp({
    optional: true,
    description:
      'Returns the webhook as it was at this time, without fields that exist only for the present.',
  })
  asOf?: string;
}

export const GetWebhookHandler = handlerOf(
  GetWebhook,
  [Resources, WebhookCursors],
  async (query, resources, cursors) => {
    const record = await resources.get(webhooks, query);
    if (record instanceof PastRecord) return record;
    const [complete] = await cursors.complete(query.organizationId, [record]);
    return complete!;
  },
);
