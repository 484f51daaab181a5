import { EventStore } from '#libs/event-store';
import { handlerOf, Operation, RecordInput, recordSchema } from '#libs/rpc';
import { Checkpoints } from '#libs/sealing';
import { HistoryReads } from './history-reads.js';
import { exportedEvent, exportedEventSchema } from './exported-event.js';
import { findEvent } from './get-event.js';
import { sealed } from './not-sealed.js';

@Operation({
  name: 'history.get-proof',
  summary: 'Prove that an event is in the history',
  description:
    'Returns the event as stored, its index among the leaves of the organization’s tree, the path from its leaf ' +
    'to the root (RFC 6962), and the signed checkpoint of that root. An event that is not sealed yet is sealed ' +
    'first.',
  reasons: ['NOT_SEALED'],
  answers: recordSchema({
    event: exportedEventSchema,
    index: { type: 'integer', description: 'The number of the leaf, counted from 0.' },
    path: { type: 'array', items: { type: 'string', description: 'A hash of 32 bytes in base64.' } },
    checkpoint: { type: 'string', description: 'A signed note (C2SP tlog-checkpoint).' },
  }),
})
export class GetProof extends RecordInput('eventId') {}

export const GetProofHandler = handlerOf(
  GetProof,
  [EventStore, HistoryReads, Checkpoints],
  async (query, store, reads, checkpoints) => {
    const { organizationId } = query;
    const event = await findEvent(store, query);
    await reads.collect(query, [event.position, event.position]);
    const { index, path, checkpoint } = await sealed(checkpoints.prove(organizationId, event));
    const previous = await store.previousPosition(organizationId, event.position);
    return {
      event: exportedEvent(event, previous),
      index,
      path: path.map((hash) => hash.toString('base64')),
      checkpoint: checkpoint.note,
    };
  },
);
