import { Commands, RecordReader, writeTo } from '#libs/commands';
import { handlerOf, Input } from '#libs/rpc';
import { broadcast, type BroadcastEvent, finishBroadcast, exists } from './broadcast.js';
import { Recipients } from './recipients.js';

/** Records that all recipients are settled. Not an operation of the API. */
export class FinishBroadcast extends Input {
  broadcastId!: string;
}

export const FinishBroadcastHandler = handlerOf(
  FinishBroadcast,
  [Commands, RecordReader, Recipients],
  async (command, commands, records, recipients) => {
    const { organizationId, broadcastId } = command;
    await commands.run(command, async () => {
      // Load the version before the recipients: a retry in between changes the version.
      const { state, version } = await records.load(broadcast, organizationId, broadcastId);
      const sendingId = exists(state) ? state.sendingId : null;
      const events: BroadcastEvent[] = [];
      if (sendingId !== null && !(await recipients.hasUnsettled(sendingId))) {
        const found = (await recipients.figures(organizationId, [sendingId])).get(sendingId);
        if (found) {
          const { sent, failed, skipped, inDoubt } = found;
          events.push(...finishBroadcast(state, { sent, failed, skipped, inDoubt }));
        }
      }
      return { recordId: broadcastId, writes: [writeTo(broadcast, broadcastId, version, events)] };
    });
  },
);
