import { Commands, RecordReader, writeTo } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { ResourceCommands } from '#libs/resources';
import { handlerOf, Id, Operation, RecordInput } from '#libs/rpc';
import { findEvent } from '../history/index.js';
import { redeliver, existingWebhook, webhook } from './webhook.js';
import { webhooks, webhookSchema } from './webhooks.js';

@Operation({
  name: 'webhook.redeliver',
  object: 'webhook',
  summary: 'Redeliver an event',
  description:
    'Sends any event of the history again with the same `webhook-id`, whether it was delivered, ' +
    'dead-lettered or never selected. The event is sent once the webhook is active, and retried if it ' +
    'fails. The response does not show the progress: `position`, `lag` and `lastDelivery` are null. To ' +
    'follow it, use `webhook.list-deliveries`.',
  answers: webhookSchema,
})
export class Redeliver extends RecordInput('webhookId') {
  @Id()
  eventId!: string;
}

export const RedeliverHandler = handlerOf(
  Redeliver,
  [Commands, RecordReader, ResourceCommands, EventStore],
  async (command, commands, records, answers, store) => {
    const { organizationId, webhookId } = command;
    const outcome = await commands.run(command, async () => {
      const { state, version } = await records.load(webhook, organizationId, webhookId);
      existingWebhook(state);
      const { eventId, position } = await findEvent(store, command);
      const events = redeliver(state, { eventId, position });
      return { recordId: webhookId, writes: [writeTo(webhook, webhookId, version, events)] };
    });
    return answers.look(webhooks, command, outcome);
  },
);
