import { Resource } from '#libs/resources';
import { recordSchema, recordVersion, resourceSchema } from '#libs/rpc';
import { chooseContactsBy, FILTER_RULES } from '../contacts/index.js';
import { segment, type SegmentFields } from './segment.js';

export const segmentSchema = resourceSchema({
  version: recordVersion,
  name: { type: 'string' },
  filter: { type: 'object', description: FILTER_RULES },
});

export const segmentIdSchema = recordSchema({ segmentId: { type: 'string' } });

export const segments = new Resource({
  object: 'segment',
  decider: segment,
  existing: (state) => (state.status === 'EXISTS' ? state : undefined),
  answers: segmentSchema,
  version: 2,
  columns: { name: { type: 'text', index: true, search: true } },
});

chooseContactsBy(segments, {
  filter: 'Only contacts in this segment.',
  members: 'in any of these segments',
  filterOf: (fields) => (fields as SegmentFields).filter,
});
