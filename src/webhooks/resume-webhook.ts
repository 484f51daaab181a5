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
    'One that is paused or was disabled: it goes on where it stopped, with everything that has happened since.',
  answers: webhookSchema,
})
export class ResumeWebhook extends Input {
  @Id()
  webhookId!: string;
}

export const ResumeWebhookHandler = changeHandler(ResumeWebhook, webhooks, resumeWebhook);
