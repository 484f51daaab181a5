import { ResourceCommands } from '#libs/resources';
import { handlerOf, Operation, RecordInput, requireScope, Text, WordsOf } from '#libs/rpc';
import { Destinations } from './destinations.js';
import { inOrder, refusedUrl, typeNames, URL_RULE } from './webhook-fields.js';
import { existingWebhook, updateWebhook } from './webhook.js';
import { webhooks, webhookSchema } from './webhooks.js';

@Operation({
  name: 'webhook.update-webhook',
  summary: 'Update a webhook',
  description:
    'Changes only the fields you send. `null` clears the description; for `eventTypes`, it selects all types. If ' +
    'the webhook receives personal data, changing `url` or `eventTypes` requires the scope `history:read`. Later ' +
    'deliveries, including pending retries, go to the new address.',
  answers: webhookSchema,
})
export class UpdateWebhook extends RecordInput('webhookId') {
  @Text({ max: 2_000, optional: true, description: URL_RULE })
  url?: string;

  @Text({ max: 10_000, optional: true, nullable: true })
  description?: string | null;

  @WordsOf(typeNames, { optional: true, nullable: true })
  eventTypes?: string[] | null;
}

export const UpdateWebhookHandler = handlerOf(
  UpdateWebhook,
  [ResourceCommands, Destinations],
  (command, commands, destinations) => {
    const { context, description } = command;
    const url = command.url === undefined ? undefined : destinations.read(command.url)?.href;
    if (command.url !== undefined && url === undefined) throw refusedUrl();
    const given = { url, description, eventTypes: inOrder(command.eventTypes) };
    return commands.change(webhooks, command, (state) => {
      // Otherwise, a key that cannot read personal data could have it sent to itself.
      if (existingWebhook(state).personalData) {
        for (const field of ['url', 'eventTypes'] as const) {
          if (given[field] !== undefined) requireScope(context.scopes, 'history:read', field);
        }
      }
      return updateWebhook(state, withoutUndefined(given));
    });
  },
);

function withoutUndefined<Fields extends object>(fields: Fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [field in keyof Fields]?: Exclude<Fields[field], undefined>;
  };
}
