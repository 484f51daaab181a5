import { changeHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { resumeWebhook } from './webhook.js';
import { webhooks, webhookSchema } from './webhooks.js';

@Operation({
  name: 'webhook.resume-webhook',
  summary: 'Resume a webhook',
  description:
    'Resumes a paused or disabled webhook. Delivery continues from the same position, including all events since ' +
    'then.',
  answers: webhookSchema,
})
export class ResumeWebhook extends RecordInput('webhookId') {}

export const ResumeWebhookHandler = changeHandler(ResumeWebhook, webhooks, resumeWebhook);
