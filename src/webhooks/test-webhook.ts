import { RecordReader, Requests } from '#libs/commands';
import { newId } from '#libs/random';
import { handlerOf, Operation, RecordInput, recordSchema, RpcError, textOrNull } from '#libs/rpc';
import { type WebhookBody } from './webhook-body.js';
import { WebhookExpansions } from './webhook-expansions.js';
import { WebhookRequests } from './webhook-requests.js';
import { existingWebhook, webhook } from './webhook.js';

/** The type of a test event; not an event of the history. */
const TEST_TYPE = 'webhook.test';

type TestAnswer = {
  webhookId: string;
  delivered: boolean;
  statusCode: number | null;
  ms: number;
  reason: string | null;
};

@Operation({
  name: 'webhook.test-webhook',
  object: 'test',
  summary: 'Test a webhook',
  description:
    `Immediately sends an event of type \`${TEST_TYPE}\`, which does not appear in the history, even if the webhook is ` +
    'paused. Returns the result within ten seconds. Failed tests are not retried.',
  answers: recordSchema({
    webhookId: { type: 'string' },
    delivered: { type: 'boolean' },
    statusCode: { type: ['integer', 'null'] },
    ms: { type: 'integer' },
    reason: { ...textOrNull, description: 'Why the delivery failed.' },
  }),
})
export class TestWebhook extends RecordInput('webhookId') {}

export const TestWebhookHandler = handlerOf(
  TestWebhook,
  [RecordReader, Requests, WebhookRequests, WebhookExpansions],
  (command, records, once, requests, expansions) =>
    once.runOutside(command, () => send(command, records, requests, expansions)),
);

async function send(
  { context, organizationId, webhookId }: TestWebhook,
  records: RecordReader,
  requests: WebhookRequests,
  expansions: WebhookExpansions,
): Promise<TestAnswer> {
  const { state } = await records.load(webhook, organizationId, webhookId);
  const named = { streamType: webhook.streamType, streamId: webhookId, data: {} };
  const [expanded] = await expansions.recordsOf({ organizationId, webhookId }, existingWebhook(state).url, [
    named,
  ]);
  const event: WebhookBody = {
    id: newId(),
    position: 0,
    type: TEST_TYPE,
    recordType: webhook.streamType,
    recordId: webhookId,
    version: 0,
    occurredAt: new Date(),
    requestId: context.requestId,
    actor: context.actor,
    data: {},
    organizationId,
    ...expanded,
  };
  const attempt = await requests.send(webhookId, existingWebhook(state), {
    id: event.id,
    body: JSON.stringify(event),
  });
  if (!attempt) {
    throw new RpcError('SERVICE_UNAVAILABLE', 'This instance is shutting down. Retry the request.', {
      reason: 'SHUTTING_DOWN',
      headers: { 'Retry-After': '1' },
    });
  }
  const { delivered, statusCode, ms, reason } = attempt;
  return { webhookId, delivered, statusCode, ms, reason };
}
