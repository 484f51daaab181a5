import { v7 as uuidv7 } from 'uuid';
import { type Commands } from '#libs/commands';
import { type JsonObject } from '#libs/event-store';
import { type Input, operationOf } from '#libs/rpc';

/** Reading the history is itself recorded: one event a request, with what was asked for. */
export type HistoryAccessEvent = {
  type: 'HistoryRead';
  data: { operation: string; asked: JsonObject };
};

export const HISTORY_ACCESS = 'history-access';

export async function recordAccess(commands: Commands, input: Input): Promise<void> {
  const { context, organizationId, ...asked } = input;
  const operation = operationOf(input.constructor)!.name;
  const event: HistoryAccessEvent = { type: 'HistoryRead', data: { operation, asked } };
  const recordId = uuidv7();
  await commands.run(input, () => ({
    recordId,
    writes: [{ streamType: HISTORY_ACCESS, streamId: recordId, expectedVersion: 0, events: [event] }],
  }));
}
