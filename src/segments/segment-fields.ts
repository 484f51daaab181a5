import { type JsonObject } from '#libs/event-store';
import { AnyJson, Input, Text } from '#libs/rpc';
import { FILTER_RULES } from '../contacts/index.js';

/** What a filter's field declares, whether it is required or not. */
export const FILTER_FIELD = {
  type: 'object',
  nullable: false,
  namesRecord: true,
  // 50 conditions with values of 500 characters, and as much again for everything else.
  maxBytes: 128 * 1024,
  description: FILTER_RULES,
  example: {
    all: [{ field: 'city', op: 'is', value: 'Berlin' }, { not: { field: 'phone', op: 'isSet' } }],
  },
} as const;

/** The fields shared by create-segment and update-segment, all optional. */
export abstract class SegmentFieldsInput extends Input {
  @Text({ max: 200, optional: true, example: 'Berlin without a phone' })
  name?: string;

  @AnyJson({ ...FILTER_FIELD, optional: true })
  filter?: JsonObject;
}
