import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ResourceCommands, type ResourceRecord } from '#libs/resources';
import { Id, Operation } from '#libs/rpc';
import { type Filter } from '../contacts/index.js';
import { FilterReader } from './filter-reader.js';
import { SegmentFieldsInput } from './segment-fields.js';
import { updateSegment } from './segment.js';
import { segments, segmentSchema } from './segments.js';

@Operation({
  name: 'segment.update-segment',
  summary: 'Update a segment',
  description: 'Changes only the fields you send. A filter replaces the previous one completely.',
  answers: segmentSchema,
})
export class UpdateSegment extends SegmentFieldsInput {
  @Id()
  segmentId!: string;
}

@CommandHandler(UpdateSegment)
export class UpdateSegmentHandler implements ICommandHandler<UpdateSegment> {
  constructor(
    private readonly commands: ResourceCommands,
    private readonly filters: FilterReader,
  ) {}

  async execute(command: UpdateSegment): Promise<ResourceRecord> {
    const { name, organizationId, context } = command;
    const filter: Filter | undefined =
      command.filter === undefined ? undefined : await this.filters.read(organizationId, command.filter);
    const given = { ...(name === undefined ? {} : { name }), ...(filter ? { filter } : {}) };
    return this.commands.change(
      segments,
      command,
      (state) => updateSegment(state, given),
      async () => {
        if (filter) await this.filters.requireNamed(filter, context);
      },
    );
  }
}
