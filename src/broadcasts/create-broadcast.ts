import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ResourceCommands, Resources } from '#libs/resources';
import { Operation, Text } from '#libs/rpc';
import { audienceOf, BroadcastFieldsInput, checkAudience } from './broadcast-fields.js';
import { type BroadcastEvent } from './broadcast.js';
import { broadcastIdSchema, broadcasts } from './broadcasts.js';

@Operation({
  method: 'POST',
  name: 'broadcast.create-broadcast',
  object: 'broadcast',
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
}

@CommandHandler(CreateBroadcast)
export class CreateBroadcastHandler implements ICommandHandler<CreateBroadcast> {
  constructor(
    private readonly commands: ResourceCommands,
    private readonly resources: Resources,
  ) {}

  execute(command: CreateBroadcast): Promise<Record<string, string>> {
    const { name, subject = name, preheader = null, content = '', format = 'MARKDOWN' } = command;
    const audience = audienceOf(command.audience) ?? {};
    const data = { name, subject, preheader, content, format, audience, countClicks: false };
    const event: BroadcastEvent = { type: 'BroadcastCreated', data };
    return this.commands.create(broadcasts, command, event, () => checkAudience(command, this.resources));
  }
}
