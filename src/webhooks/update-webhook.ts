import { Commands, type Decision, RecordReader, writeTo } from '#libs/commands';
import { ResourceCommands } from '#libs/resources';
import { handlerOf, Operation, RecordInput, requireScope, Text, WordsOf } from '#libs/rpc';
import { Destinations } from './destinations.js';
import {
  changeExpansion,
  EXPANDED_KINDS,
  EXPANDED_SCOPES,
  type ExpandedKind,
  expansionId,
  webhookExpansion,
} from './webhook-expansion.js';
import { EXPAND, EXPAND_SCOPES, inOrder, refusedUrl, typeNames, URL_RULE } from './webhook-fields.js';
import { existingWebhook, updateWebhook, webhook } from './webhook.js';
import { webhooks, webhookSchema } from './webhooks.js';

@Operation({
  name: 'webhook.update-webhook',
  summary: 'Update a webhook',
  description:
    'Changes only the fields you send. `null` clears the description; for `eventTypes`, it selects all types. If ' +
    'the webhook receives personal data, changing `url` or `eventTypes` requires the scope `history:read`. If it receives ' +
    'contacts or petitions, changing them requires the scopes of `expand`. Later deliveries, including pending retries, go to the new address.',
  fieldScopes: EXPAND_SCOPES,
  answers: webhookSchema,
})
export class UpdateWebhook extends RecordInput('webhookId') {
  @Text({ max: 2_000, optional: true, description: URL_RULE })
  url?: string;

  @Text({ max: 10_000, optional: true, nullable: true })
  description?: string | null;

  @WordsOf(typeNames, { optional: true, nullable: true })
  eventTypes?: string[] | null;

  @WordsOf(() => EXPANDED_KINDS, EXPAND)
  expand?: ExpandedKind[];
}

export const UpdateWebhookHandler = handlerOf(
  UpdateWebhook,
  [Commands, RecordReader, ResourceCommands, Destinations],
  async (command, commands, records, resources, destinations) => {
    const { context, organizationId, webhookId, description } = command;
    const url = command.url === undefined ? undefined : destinations.read(command.url)?.href;
    if (command.url !== undefined && url === undefined) throw refusedUrl();
    const given = { url, description, eventTypes: inOrder(command.eventTypes) };

    const decide = async (): Promise<Decision> => {
      const before = await records.load(webhook, organizationId, webhookId);
      const expansion = await records.load(webhookExpansion, organizationId, expansionId(webhookId));
      const { personalData } = existingWebhook(before.state);
      // Otherwise, a key that cannot read these data could have them sent to itself.
      const needed = [
        ...(personalData ? ['history:read'] : []),
        ...expansion.state.expand.map((kind) => EXPANDED_SCOPES[kind]),
      ];
      for (const field of ['url', 'eventTypes'] as const)
        if (given[field] !== undefined)
          for (const scope of needed) requireScope(context.scopes, scope, field);
      const expands = changeExpansion(expansion.state, webhookId, command.expand);
      const updates = updateWebhook(before.state, withoutUndefined(given), expands.length > 0);
      return {
        recordId: webhookId,
        writes: [
          writeTo(webhook, webhookId, before.version, updates),
          writeTo(webhookExpansion, expansionId(webhookId), expansion.version, expands),
        ],
      };
    };
    return resources.look(webhooks, command, await commands.run(command, decide));
  },
);

function withoutUndefined<Fields extends object>(fields: Fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [field in keyof Fields]?: Exclude<Fields[field], undefined>;
  };
}
