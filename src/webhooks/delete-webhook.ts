import { deleteHandler } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { deleteWebhook } from './webhook.js';
import { webhookIdSchema, webhooks } from './webhooks.js';

@Operation({
  method: 'DELETE',
  name: 'webhook.delete-webhook',
  object: 'webhook',
  summary: 'Delete a webhook',
  description: 'All deliveries stop, including retries.',
  answers: webhookIdSchema,
})
export class DeleteWebhook extends Input {
  @Id()
  webhookId!: string;
}

export const DeleteWebhookHandler = deleteHandler(DeleteWebhook, webhooks, deleteWebhook);
