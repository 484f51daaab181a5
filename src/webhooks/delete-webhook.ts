import { deleteHandler } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { deleteWebhook } from './webhook.js';
import { webhookIdSchema, webhooks } from './webhooks.js';

@Operation({
  method: 'DELETE',
  name: 'webhook.delete-webhook',
  object: 'webhook',
  summary: 'Delete a webhook',
  description: 'Nothing more is sent, nor tried again.',
  answers: webhookIdSchema,
})
export class DeleteWebhook extends Input {
  @Id()
  webhookId!: string;
}

export const DeleteWebhookHandler = deleteHandler(DeleteWebhook, webhooks, deleteWebhook);
