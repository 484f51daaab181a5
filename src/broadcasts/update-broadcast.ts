import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ResourceCommands, Resources } from '#libs/resources';
import { Id, Operation } from '#libs/rpc';
import { audienceOf, BroadcastFieldsInput, checkAudience } from './broadcast-fields.js';
import { updateBroadcast } from './broadcast.js';
import { BroadcastFigures, type BroadcastRecord } from './broadcast-figures.js';
import { broadcasts, broadcastSchema } from './broadcasts.js';

@Operation({
  name: 'broadcast.update-broadcast',
  summary: 'Update a broadcast',
  description:
    'Changes only the fields you send; `audience` is replaced as a whole. Allowed only before sending starts.',
  answers: broadcastSchema,
  reasons: ['BROADCAST_BEGUN'],
  fieldScopes: { audience: 'contact:read' },
})
export class UpdateBroadcast extends BroadcastFieldsInput {
  @Id()
  broadcastId!: string;
}

@CommandHandler(UpdateBroadcast)
export class UpdateBroadcastHandler implements ICommandHandler<UpdateBroadcast> {
  constructor(
    private readonly commands: ResourceCommands,
    private readonly resources: Resources,
    private readonly figures: BroadcastFigures,
  ) {}

  async execute(command: UpdateBroadcast): Promise<BroadcastRecord> {
    const { name, subject, preheader, content, format, audience, countClicks } = command;
    const given = { name, subject, preheader, content, format, audience: audienceOf(audience), countClicks };
    const record = await this.commands.change(
      broadcasts,
      command,
      (state) => updateBroadcast(state, given as Parameters<typeof updateBroadcast>[1]),
      () => checkAudience(command, this.resources),
    );
    return this.figures.of(record);
  }
}
