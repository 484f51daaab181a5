import { Commands, RecordReader, writeTo } from '#libs/commands';
import { newId } from '#libs/random';
import { handlerOf, Integer, Operation, PastDay, RecordInput, recordSchema, Text } from '#libs/rpc';
import { offlineCount } from './offline-count.js';
import { OfflineSignatures, tooManyCounts } from './offline-counts.js';
import { existingPetition, petition } from './petition.js';

@Operation({
  name: 'petition.record-offline-signatures',
  object: 'offline-count',
  summary: 'Count signatures on paper',
  description:
    'Adds signatures that were collected on paper to `offlineSignatures` of the petition. Its page shows the sum with `signatures`, ' +
    'and the goal counts them too. Keep the sheets: only their number is stored, so the count certificate does not prove them. ' +
    'To subscribe the signers as contacts, use `petition.import-signatures` instead. Works in every status of the ' +
    'petition. Sending the same body again returns the first count, unless it was withdrawn. To record an identical one, ' +
    'send an `Idempotency-Key`. To undo this, use `petition.withdraw-offline-signatures`.',
  answers: recordSchema({ offlineCountId: { type: 'string' } }),
  reasons: ['TOO_MANY_OFFLINE_COUNTS'],
})
export class RecordOfflineSignatures extends RecordInput('petitionId') {
  @Integer({ min: 1, max: 1_000_000, description: 'The number of valid signatures.', example: 48 })
  count!: number;

  @PastDay({ description: 'The last day on which they were collected.', example: '2026-11-20' })
  collectedOn!: string;

  @Text({
    max: 500,
    optional: true,
    nullable: true,
    example: 'Market square, sheets 1 to 4',
    description:
      'The place where the signatures were collected. It stays in the history, so do not enter signers’ names.',
  })
  note?: string | null;
}

export const RecordOfflineSignaturesHandler = handlerOf(
  RecordOfflineSignatures,
  [Commands, RecordReader, OfflineSignatures],
  async (command, commands, records, offline) => {
    const { organizationId, petitionId, count, collectedOn, note = null } = command;
    const creates = commands.named(offlineCount, organizationId, ({ status }) => status === 'COUNTED');
    const { recordId } = await commands.run(command, async () => {
      const { state, version } = await records.load(petition, organizationId, petitionId);
      existingPetition(state);
      if (!(await offline.hasRoom(organizationId, petitionId))) {
        const existing = await commands.findTwin(command, creates);
        if (existing === undefined) throw tooManyCounts();
        return { recordId: existing, writes: [] };
      }
      const recordId = newId();
      const data = { petitionId, count, collectedOn, note };
      return {
        recordId,
        creates,
        guards: [{ streamId: petitionId, version }],
        writes: [writeTo(offlineCount, recordId, 0, [{ type: 'OfflineSignaturesRecorded', data }])],
      };
    });
    return { offlineCountId: recordId };
  },
);
