import { Commands, type Decision, writeTo } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { newId } from '#libs/random';
import { handlerOf, hasScope, Input, Operation, RpcError, Text, WordsOf } from '#libs/rpc';
import { Destinations } from './destinations.js';
import { secretOf } from './signatures.js';
import {
  changeExpansion,
  EXPANDED_KINDS,
  type ExpandedKind,
  expansionId,
  webhookExpansion,
} from './webhook-expansion.js';
import { EXPAND, EXPAND_SCOPES, inOrder, refusedUrl, typeNames, URL_RULE } from './webhook-fields.js';
import { exists, webhook } from './webhook.js';
import { newSecretSchema } from './webhooks.js';

/** The limit per organization, because every webhook receives every event. */
const MAX_WEBHOOKS = 50;

@Operation({
  name: 'webhook.create-webhook',
  summary: 'Create a webhook',
  description:
    'Sends every new event of your organization to the address, in the format of `history.get-event`. ' +
    'Requests are signed according to Standard Webhooks with the `secret` in the response. ' +
    'A failed event is retried seven times within nine hours, with the same `webhook-id`. Personal data is sent ' +
    'only if the key that creates the webhook has the scope `history:read`. Repeating the request returns the ' +
    'same webhook with `secret: null`: if you lost the response, rotate the secret.',
  fieldScopes: EXPAND_SCOPES,
  answers: newSecretSchema,
  reasons: ['WEBHOOK_LIMIT_REACHED'],
})
export class CreateWebhook extends Input {
  @Text({ max: 2_000, example: 'https://example.org/webhooks', description: URL_RULE })
  url!: string;

  @Text({ max: 10_000, optional: true, nullable: true })
  description?: string | null;

  @WordsOf(typeNames, {
    optional: true,
    nullable: true,
    description: 'Types of events to send. Default: all, including types added in later versions.',
    example: ['PetitionSigned'],
  })
  eventTypes?: string[] | null;

  @WordsOf(() => EXPANDED_KINDS, EXPAND)
  expand?: ExpandedKind[];
}

export const CreateWebhookHandler = handlerOf(
  CreateWebhook,
  [Commands, EventStore, Destinations],
  async (command, commands, store, destinations) => {
    const { context, organizationId, description = null } = command;
    // Sorted before requests are compared, so the order does not matter.
    command.eventTypes = inOrder(command.eventTypes) ?? null;
    command.expand = EXPANDED_KINDS.filter((kind) => command.expand?.includes(kind));
    const url = destinations.read(command.url)?.href;
    if (url === undefined) throw refusedUrl();
    command.url = url;
    const personalData = hasScope(context.scopes, 'history:read');

    const webhookId = newId();
    const creates = commands.named(webhook, organizationId, (state) => exists(state) && state.url === url);
    const decide = async (): Promise<Decision> => {
      const slot = await findSlot(organizationId, commands);
      if (!slot) {
        const existing = await commands.findTwin(command, creates);
        if (existing !== undefined) return { recordId: existing, writes: [] };
        throw tooMany();
      }
      const data = { url, description, eventTypes: command.eventTypes ?? null, personalData };
      const writes = [
        writeTo(webhook, webhookId, 0, [{ type: 'WebhookCreated', data }]),
        writeTo(
          webhookExpansion,
          expansionId(webhookId),
          0,
          changeExpansion(webhookExpansion.initial, webhookId, command.expand),
        ),
      ];
      const claim = { value: slot, streamId: webhookId, taken: decide };
      return { recordId: webhookId, creates, writes, claims: [claim] };
    };
    const { recordId } = await commands.run(command, decide);
    const secret = recordId === webhookId ? secretOf(store.keyring, webhookId, 1) : null;
    return { webhookId: recordId, secret };
  },
);

/**
 * Returns a free slot for a webhook; undefined if all are in use. Creating a webhook claims the slot and
 * deleting it releases the slot, so concurrent requests cannot exceed the limit. The slot is random,
 * because concurrent requests choose one too.
 */
async function findSlot(organizationId: string, commands: Commands): Promise<string[] | undefined> {
  const slots = Array.from({ length: MAX_WEBHOOKS }, (_, n) => ['webhook.place', String(n)]);
  const owners = await commands.findOwners(organizationId, slots);
  const free = slots.filter((_, n) => owners[n] === undefined);
  return free[Math.floor(Math.random() * free.length)];
}

function tooMany(): RpcError {
  return new RpcError(
    'CONFLICT',
    `An organization can have up to ${MAX_WEBHOOKS} webhooks. Delete one that you no longer need.`,
    { reason: 'WEBHOOK_LIMIT_REACHED' },
  );
}
