import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, RecordReader, writeTo } from '#libs/commands';
import { Input } from '#libs/rpc';
import { broadcast, type BroadcastEvent, finishBroadcast, exists } from './broadcast.js';
import { Recipients } from './recipients.js';

/** Records that all recipients are settled. Not an operation of the API. */
export class FinishBroadcast extends Input {
  broadcastId!: string;
}

@CommandHandler(FinishBroadcast)
export class FinishBroadcastHandler implements ICommandHandler<FinishBroadcast> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly recipients: Recipients,
  ) {}

  async execute(command: FinishBroadcast): Promise<void> {
    const { organizationId, broadcastId } = command;
    await this.commands.run(command, async () => {
      // Load the version before the recipients: a retry in between changes the version.
      const { state, version } = await this.records.load(broadcast, organizationId, broadcastId);
      const sendingId = exists(state) ? state.sendingId : null;
      const events: BroadcastEvent[] = [];
      if (sendingId !== null && !(await this.recipients.hasUnsettled(sendingId))) {
        const found = (await this.recipients.figures(organizationId, [sendingId])).get(sendingId);
        if (found) {
          const { sent, failed, skipped, inDoubt } = found;
          events.push(...finishBroadcast(state, { sent, failed, skipped, inDoubt }));
        }
      }
      return { recordId: broadcastId, writes: [writeTo(broadcast, broadcastId, version, events)] };
    });
  }
}
