import { changeHandler } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { resumeWebhook } from './webhook.js';
import { webhooks, webhookSchema } from './webhooks.js';

@Operation({
  method: 'POST',
  name: 'webhook.resume-webhook',
  object: 'webhook',
  summary: 'Resume a webhook',
  description:
    'Resumes a paused or disabled webhook. Delivery continues from the same position, including all events since ' +
    'then.',
  answers: webhookSchema,
})
export class ResumeWebhook extends Input {
  @Id()
  webhookId!: string;
}

export const ResumeWebhookHandler = changeHandler(ResumeWebhook, webhooks, resumeWebhook);
