import { deleteHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { deleteWebhook } from './webhook.js';
import { webhookIdSchema, webhooks } from './webhooks.js';

@Operation({
  name: 'webhook.delete-webhook',
  summary: 'Delete a webhook',
  description: 'All deliveries stop, including retries.',
  answers: webhookIdSchema,
})
export class DeleteWebhook extends RecordInput('webhookId') {}

export const DeleteWebhookHandler = deleteHandler(DeleteWebhook, webhooks, deleteWebhook);
