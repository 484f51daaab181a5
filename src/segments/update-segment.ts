import { ResourceCommands } from '#libs/resources';
import { handlerOf, Id, Operation } from '#libs/rpc';
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

export const UpdateSegmentHandler = handlerOf(
  UpdateSegment,
  [ResourceCommands, FilterReader],
  async (command, commands, filters) => {
    const { name, organizationId, context } = command;
    const filter: Filter | undefined =
      command.filter === undefined ? undefined : await filters.read(organizationId, command.filter);
    const given = { ...(name === undefined ? {} : { name }), ...(filter ? { filter } : {}) };
    return commands.change(
      segments,
      command,
      (state) => updateSegment(state, given),
      async () => {
        if (filter) await filters.requireNamed(filter, context);
      },
    );
  },
);
