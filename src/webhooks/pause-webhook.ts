import { changeHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { pauseWebhook } from './webhook.js';
import { webhooks, webhookSchema } from './webhooks.js';

@Operation({
  name: 'webhook.pause-webhook',
  summary: 'Pause a webhook',
  description:
    'All instances stop starting deliveries within a second. No event is lost: after you resume the webhook, ' +
    'delivery continues from the same position. Pausing a paused or disabled webhook changes nothing.',
  answers: webhookSchema,
})
export class PauseWebhook extends RecordInput('webhookId') {}

export const PauseWebhookHandler = changeHandler(PauseWebhook, webhooks, pauseWebhook);
