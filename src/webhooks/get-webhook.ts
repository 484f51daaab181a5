import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { type ResourceRecord, Resources } from '#libs/resources';
import { Operation, PastRecord, RecordInput, Timestamp } from '#libs/rpc';
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

@QueryHandler(GetWebhook)
export class GetWebhookHandler implements IQueryHandler<GetWebhook> {
  constructor(
    private readonly resources: Resources,
    private readonly cursors: WebhookCursors,
  ) {}

  async execute(query: GetWebhook): Promise<ResourceRecord | PastRecord<ResourceRecord>> {
    const record = await this.resources.get(webhooks, query);
    if (record instanceof PastRecord) return record;
    const [complete] = await this.cursors.complete(query.organizationId, [record]);
    return complete!;
  }
}
