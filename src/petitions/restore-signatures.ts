import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, RecordReader, writeTo } from '#libs/commands';
import { Projections } from '#libs/projections';
import { ResourceCommands, type ResourceRecord } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { ChosenSignatures, PAGE } from './chosen-signatures.js';
import { invalidation, restoreMore, existingInvalidation } from './invalidation.js';
import { invalidations, invalidationSchema } from './invalidations.js';

@Operation({
  name: 'petition.restore-signatures',
  object: 'invalidation',
  summary: 'Restore invalidated signatures',
  description:
    'All signatures that this invalidation excluded count again, except those withdrawn since. An ' +
    'invalidation in progress is stopped. The first 200 count again before the response is sent, the rest ' +
    'within seconds.',
  answers: invalidationSchema,
})
export class RestoreSignatures extends RecordInput('invalidationId') {}

@CommandHandler(RestoreSignatures)
export class RestoreSignaturesHandler implements ICommandHandler<RestoreSignatures> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly answers: ResourceCommands,
    private readonly chosen: ChosenSignatures,
    private readonly projections: Projections,
  ) {}

  async execute(command: RestoreSignatures): Promise<ResourceRecord> {
    const { organizationId, invalidationId } = command;
    const outcome = await this.commands.run(command, async () => {
      const { state, version } = await this.records.load(invalidation, organizationId, invalidationId);
      const { status } = existingInvalidation(state);
      const isBegun = status === 'RESTORING' || status === 'RESTORED';
      // The signatures it had invalidated up to this version.
      if (!isBegun) await this.projections.catchUpWithLog();
      const events = isBegun
        ? []
        : restoreMore(state, await this.chosen.invalidatedBy(organizationId, invalidationId), PAGE);
      return { recordId: invalidationId, writes: [writeTo(invalidation, invalidationId, version, events)] };
    });
    return this.answers.look(invalidations, command, outcome);
  }
}
