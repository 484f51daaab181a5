import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ResourceCommands } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { BroadcastFigures, type BroadcastRecord } from './broadcast-figures.js';
import { cancelBroadcast } from './broadcast.js';
import { broadcasts, broadcastSchema } from './broadcasts.js';

@Operation({
  name: 'broadcast.cancel-broadcast',
  summary: 'Cancel a broadcast',
  description:
    'Allowed in any state except `SENT`. Remaining recipients receive nothing. Cancelling a cancelled broadcast ' +
    'changes nothing.',
  answers: broadcastSchema,
  reasons: ['BROADCAST_BEGUN'],
})
export class CancelBroadcast extends RecordInput('broadcastId') {}

@CommandHandler(CancelBroadcast)
export class CancelBroadcastHandler implements ICommandHandler<CancelBroadcast> {
  constructor(
    private readonly commands: ResourceCommands,
    private readonly figures: BroadcastFigures,
  ) {}

  async execute(command: CancelBroadcast): Promise<BroadcastRecord> {
    return this.figures.of(await this.commands.change(broadcasts, command, cancelBroadcast));
  }
}
