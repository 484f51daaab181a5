import { Commands, type Decision, RecordReader, writeTo } from '#libs/commands';
import { ResourceCommands } from '#libs/resources';
import { handlerOf, Operation, RecordInput, Timestamp } from '#libs/rpc';
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

export const SendBroadcastHandler = handlerOf(
  SendBroadcast,
  [Commands, RecordReader, ResourceCommands, Starts],
  async (command, commands, records, answers, starts) => {
    const outcome = await commands.run(command, () => decide(command, records, starts));
    return answers.look(broadcasts, command, outcome);
  },
);

async function decide(
  { organizationId, broadcastId, sendAt }: SendBroadcast,
  records: RecordReader,
  starts: Starts,
): Promise<Decision> {
  const { state, version } = await records.load(broadcast, organizationId, broadcastId);
  const at = sendAt === undefined ? undefined : new Date(sendAt);
  // Sending a broadcast that is already being sent is a repeat.
  const existing = existingBroadcast(state);
  if (existing.status === 'SENDING' && at === undefined)
    return { recordId: broadcastId, writes: [writeTo(broadcast, broadcastId, version, [])] };
  requireUnsent(state);
  if (at === undefined || at.getTime() <= Date.now()) {
    const decided = await starts.decide(organizationId, broadcastId, { state: existing, version });
    if (Array.isArray(decided)) throw notReady(decided);
    return decided;
  }
  const blockers = await starts.blockers(organizationId, broadcastId, existing);
  if (blockers.length > 0) throw notReady(blockers);
  const events = scheduleBroadcast(state, at.toISOString());
  return { recordId: broadcastId, writes: [writeTo(broadcast, broadcastId, version, events)] };
}
