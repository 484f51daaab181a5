import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, RecordReader, writeTo } from '#libs/commands';
import { ResourceCommands, type ResourceRecord } from '#libs/resources';
import { Operation, RecordInput, Timestamp } from '#libs/rpc';
import { broadcast, requireUnsent, scheduleBroadcast, existingBroadcast } from './broadcast.js';
import { broadcasts, broadcastSchema } from './broadcasts.js';
import { notReady } from './message-builder.js';
import { Starts } from './starts.js';

@Operation({
  name: 'broadcast.send-broadcast',
  summary: 'Send a broadcast',
  description:
    'Sends the broadcast now or at `sendAt`. To reschedule it, call this operation again with another `sendAt`. ' +
    'The recipient list is fixed when sending starts. Returns 409 with all problems in `error.issues`: no ' +
    'sender, no postal address, no recipients, unknown merge fields. If a problem arises before `sendAt`, the ' +
    'broadcast becomes a draft again.',
  scope: 'broadcast:send',
  answers: broadcastSchema,
  reasons: ['BROADCAST_BEGUN', 'BROADCAST_NOT_READY'],
})
export class SendBroadcast extends RecordInput('broadcastId') {
  @Timestamp({ optional: true, description: 'Default: now. A time in the past also means now.' })
  sendAt?: string;
}

@CommandHandler(SendBroadcast)
export class SendBroadcastHandler implements ICommandHandler<SendBroadcast> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly answers: ResourceCommands,
    private readonly starts: Starts,
  ) {}

  async execute(command: SendBroadcast): Promise<ResourceRecord> {
    const outcome = await this.commands.run(command, () => this.decide(command));
    return this.answers.look(broadcasts, command, outcome);
  }

  private async decide({ organizationId, broadcastId, sendAt }: SendBroadcast): Promise<Decision> {
    const { state, version } = await this.records.load(broadcast, organizationId, broadcastId);
    const at = sendAt === undefined ? undefined : new Date(sendAt);
    // Sending a broadcast that is already being sent is a repeat.
    const existing = existingBroadcast(state);
    if (existing.status === 'SENDING' && at === undefined)
      return { recordId: broadcastId, writes: [writeTo(broadcast, broadcastId, version, [])] };
    requireUnsent(state);
    if (at === undefined || at.getTime() <= Date.now()) {
      const decided = await this.starts.decide(organizationId, broadcastId, { state: existing, version });
      if (Array.isArray(decided)) throw notReady(decided);
      return decided;
    }
    const blockers = await this.starts.blockers(organizationId, broadcastId, existing);
    if (blockers.length > 0) throw notReady(blockers);
    const events = scheduleBroadcast(state, at.toISOString());
    return { recordId: broadcastId, writes: [writeTo(broadcast, broadcastId, version, events)] };
  }
}
