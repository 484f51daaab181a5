import { duplicateHandler } from '#libs/resources';
import { Operation, RecordInput, Text } from '#libs/rpc';
import { duplicateBroadcast } from './broadcast.js';
import { broadcastIdSchema, broadcasts } from './broadcasts.js';

@Operation({
  name: 'broadcast.duplicate-broadcast',
  summary: 'Duplicate a broadcast',
  description:
    'Creates a draft with the content and the audience of a broadcast in any status. Sending the same body again ' +
    'returns the first copy, as long as it is still a draft with that name.',
  answers: broadcastIdSchema,
})
export class DuplicateBroadcast extends RecordInput('broadcastId') {
  @Text({ max: 200, example: 'News of the river, in June', description: 'The name of the copy.' })
  name!: string;
}

export const DuplicateBroadcastHandler = duplicateHandler(DuplicateBroadcast, broadcasts, (state, { name }) =>
  duplicateBroadcast(state, name),
);
