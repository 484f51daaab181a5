import { type JsonObject } from '#libs/event-store';
import { ResourceCommands } from '#libs/resources';
import { AnyJson, handlerOf, Operation, Text } from '#libs/rpc';
import { FilterReader } from './filter-reader.js';
import { FILTER_FIELD, SegmentFieldsInput } from './segment-fields.js';
import { segmentIdSchema, segments } from './segments.js';

@Operation({
  name: 'segment.create-segment',
  summary: 'Create a segment',
  description:
    'Saves a filter of contacts. Its contacts are found whenever it is used, so they are always current. A condition ' +
    'on a record needs the scope to read records of that kind. Sending the same body again returns the first ' +
    'segment, as long as it exists and still has that name. To create an identical one, send an `Idempotency-Key`.',
  answers: segmentIdSchema,
})
export class CreateSegment extends SegmentFieldsInput {
  @Text({ max: 200, example: 'Berlin without a phone' })
  override name!: string;

  @AnyJson(FILTER_FIELD)
  override filter!: JsonObject;
}

export const CreateSegmentHandler = handlerOf(
  CreateSegment,
  [ResourceCommands, FilterReader],
  async (command, commands, filters) => {
    const { name, organizationId, context } = command;
    const filter = await filters.read(organizationId, command.filter);
    return commands.create(segments, command, { type: 'SegmentCreated', data: { name, filter } }, () =>
      filters.requireNamed(filter, context),
    );
  },
);
