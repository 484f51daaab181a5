import { changeHandler } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { pauseWebhook } from './webhook.js';
import { webhooks, webhookSchema } from './webhooks.js';

@Operation({
  method: 'POST',
  name: 'webhook.pause-webhook',
  object: 'webhook',
  summary: 'Pause a webhook',
  description:
    'Within a second no instance begins to send anything more. Nothing is lost: once resumed it goes on where it stopped. Pausing the paused, or what was disabled, changes nothing.',
  answers: webhookSchema,
})
export class PauseWebhook extends Input {
  @Id()
  webhookId!: string;
}

export const PauseWebhookHandler = changeHandler(PauseWebhook, webhooks, pauseWebhook);
