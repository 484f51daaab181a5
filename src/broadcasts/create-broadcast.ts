import { RecordReader } from '#libs/commands';
import { ResourceCommands, Resources } from '#libs/resources';
import { handlerOf, Id, Operation, Text } from '#libs/rpc';
import { audienceOf, BroadcastFieldsInput, checkAudience } from './broadcast-fields.js';
import { broadcast, type BroadcastEvent, existingBroadcast, exists } from './broadcast.js';
import { broadcastIdSchema, broadcasts } from './broadcasts.js';

@Operation({
  name: 'broadcast.create-broadcast',
  summary: 'Create a broadcast',
  description:
    'A new broadcast is a draft. Sending the same body again returns the first draft, as long as it is still a ' +
    'draft with that name. To create two identical drafts, send an `Idempotency-Key`.',
  answers: broadcastIdSchema,
  // Choosing recipients reveals contacts, so it needs the scope to read them.
  fieldScopes: { audience: 'contact:read' },
})
export class CreateBroadcast extends BroadcastFieldsInput {
  @Text({ max: 200, example: 'News of the river, in May' })
  override name!: string;

  @Id({
    optional: true,
    description:
      'A broadcast in any status that serves as a template: its subject, preheader, content and format are the defaults. ' +
      'To copy its audience as well, use broadcast.duplicate-broadcast.',
  })
  fromBroadcastId?: string;
}

export const CreateBroadcastHandler = handlerOf(
  CreateBroadcast,
  [ResourceCommands, Resources, RecordReader],
  async (command, commands, resources, records) => {
    const { organizationId, fromBroadcastId, name } = command;
    const from =
      fromBroadcastId === undefined
        ? undefined
        : (await records.look(broadcast, organizationId, fromBroadcastId)).state;
    const template = from && exists(from) ? from : undefined;
    const { subject = template?.subject ?? name, preheader = template?.preheader ?? null } = command;
    const { content = template?.content ?? '', format = template?.format ?? 'MARKDOWN' } = command;
    const audience = command.audience ? audienceOf(command.audience) : {};
    const { countClicks = false } = command;
    const data = { name, subject, preheader, content, format, audience, countClicks };
    const event: BroadcastEvent = { type: 'BroadcastCreated', data };
    return commands.create(broadcasts, command, event, () => {
      // Not before: a repeated Idempotency-Key returns the first draft, even if the template was deleted since.
      if (from) existingBroadcast(from);
      return checkAudience(command, resources);
    });
  },
);
