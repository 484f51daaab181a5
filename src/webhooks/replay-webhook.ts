import { EventStore } from '#libs/event-store';
import { ResourceCommands } from '#libs/resources';
import { handlerOf, Integer, Operation, RecordInput, Timestamp } from '#libs/rpc';
import { replayWebhook } from './webhook.js';
import { webhooks, webhookSchema } from './webhooks.js';

@Operation({
  name: 'webhook.replay-webhook',
  summary: 'Replay the history to a webhook',
  description:
    'Resends all selected events after a position or since a time. They are sent in order and with their ' +
    'original `webhook-id`. Events that were not delivered yet are included. Without an `Idempotency-Key`, ' +
    'repeating the request starts the replay again. The response does not show the progress: `position`, ' +
    '`lag` and `lastDelivery` are null. To follow it, use `webhook.get-webhook`.',
  answers: webhookSchema,
  exactlyOne: ['fromPosition', 'from'],
})
export class ReplayWebhook extends RecordInput('webhookId') {
  @Integer({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    optional: true,
    description: 'Events after this position; 0 replays the whole history. Required unless `from` is set.',
  })
  fromPosition?: number;

  @Timestamp({ optional: true, description: 'Events at and after this time.' })
  from?: string;
}

export const ReplayWebhookHandler = handlerOf(
  ReplayWebhook,
  [ResourceCommands, EventStore],
  async (command, commands, store) => {
    const { fromPosition, from } = command;
    const after = fromPosition ?? (await positionBefore(command.organizationId, from!, store));
    return commands.change(webhooks, command, (state) => replayWebhook(state, after));
  },
);

/** The position before the first event that occurred at or after this time. */
async function positionBefore(organizationId: string, from: string, store: EventStore): Promise<number> {
  const upTo = await store.horizon();
  // Events are recorded to the millisecond.
  const occurredAfter = new Date(Date.parse(from) - 1).toISOString();
  const range = { after: 0, upTo };
  const { events } = await store.readHistory(organizationId, range, 1, { occurredAfter });
  return events[0] ? events[0].position - 1 : upTo;
}
