import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ResourceCommands } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { BroadcastFigures, type BroadcastRecord } from './broadcast-figures.js';
import { pauseBroadcast } from './broadcast.js';
import { broadcasts, broadcastSchema } from './broadcasts.js';

@Operation({
  name: 'broadcast.pause-broadcast',
  summary: 'Pause a broadcast',
  description:
    'Messages already being sent are still delivered. All instances stop sending within a second. Pausing a ' +
    'paused broadcast changes nothing.',
  answers: broadcastSchema,
  reasons: ['BROADCAST_NOT_SENDING'],
})
export class PauseBroadcast extends RecordInput('broadcastId') {}

@CommandHandler(PauseBroadcast)
export class PauseBroadcastHandler implements ICommandHandler<PauseBroadcast> {
  constructor(
    private readonly commands: ResourceCommands,
    private readonly figures: BroadcastFigures,
  ) {}

  async execute(command: PauseBroadcast): Promise<BroadcastRecord> {
    return this.figures.of(await this.commands.change(broadcasts, command, pauseBroadcast));
  }
}
