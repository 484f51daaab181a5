import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ResourceCommands } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { BroadcastFigures, type BroadcastRecord } from './broadcast-figures.js';
import { resumeBroadcast } from './broadcast.js';
import { broadcasts, broadcastSchema } from './broadcasts.js';

@Operation({
  name: 'broadcast.resume-broadcast',
  summary: 'Resume a broadcast',
  description: 'Resuming a broadcast that is being sent changes nothing.',
  scope: 'broadcast:send',
  answers: broadcastSchema,
  reasons: ['BROADCAST_NOT_SENDING'],
})
export class ResumeBroadcast extends RecordInput('broadcastId') {}

@CommandHandler(ResumeBroadcast)
export class ResumeBroadcastHandler implements ICommandHandler<ResumeBroadcast> {
  constructor(
    private readonly commands: ResourceCommands,
    private readonly figures: BroadcastFigures,
  ) {}

  async execute(command: ResumeBroadcast): Promise<BroadcastRecord> {
    return this.figures.of(await this.commands.change(broadcasts, command, resumeBroadcast));
  }
}
