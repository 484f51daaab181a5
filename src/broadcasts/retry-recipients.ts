import { Commands, RecordReader, writeTo } from '#libs/commands';
import { ResourceCommands } from '#libs/resources';
import { handlerOf, OneOf, Operation, RecordInput } from '#libs/rpc';
import { broadcast, retryBroadcast, existingBroadcast } from './broadcast.js';
import { broadcasts, broadcastSchema } from './broadcasts.js';
import { Recipients } from './recipients.js';

@Operation({
  name: 'broadcast.retry-recipients',
  object: 'broadcast',
  summary: 'Retry failed or in-doubt recipients',
  description:
    'Sends the broadcast again to all recipients with the given status. `FAILED` messages were rejected by the ' +
    'mail server. `IN_DOUBT` messages may have been delivered: the process crashed or the connection broke ' +
    'before the outcome was known. No other recipient gets the message twice.',
  scope: 'broadcast:send',
  answers: broadcastSchema,
  reasons: ['BROADCAST_NOT_SENDING'],
})
export class RetryRecipients extends RecordInput('broadcastId') {
  @OneOf(['FAILED', 'IN_DOUBT'])
  status!: 'FAILED' | 'IN_DOUBT';
}

export const RetryRecipientsHandler = handlerOf(
  RetryRecipients,
  [Commands, RecordReader, ResourceCommands, Recipients],
  async (command, commands, records, answers, recipients) => {
    const { organizationId, broadcastId, status } = command;
    const outcome = await commands.run(command, async () => {
      const { state, version } = await records.load(broadcast, organizationId, broadcastId);
      const events = retryBroadcast(state, status);
      const sendingId = existingBroadcast(state).sendingId!;
      // Recipients first: repeating the request after a crash between the two steps finds them waiting and resumes sending.
      const count = await recipients.retry(organizationId, sendingId, status);
      const isStill =
        existingBroadcast(state).status === 'SENT' && (await recipients.hasUnsettled(sendingId));
      const isNeeded = count > 0 || isStill;
      const writes = [writeTo(broadcast, broadcastId, version, isNeeded ? events : [])];
      return { recordId: broadcastId, writes };
    });
    return answers.look(broadcasts, command, outcome);
  },
);
