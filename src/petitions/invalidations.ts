import { Resource } from '#libs/resources';
import { recordSchema, resourceSchema, textOrNull, timestampOrNull } from '#libs/rpc';
import { invalidation } from './invalidation.js';

export const invalidationSchema = resourceSchema({
  petitionId: { type: 'string' },
  status: { type: 'string', enum: ['INVALIDATING', 'INVALIDATED', 'RESTORING', 'RESTORED'] },
  condition: {
    ...recordSchema({
      createdAfter: timestampOrNull,
      createdBefore: timestampOrNull,
      emailDomain: textOrNull,
      clientAddress: textOrNull,
      suspicion: textOrNull,
    }),
    type: ['object', 'null'],
    description: 'null if the signatures were named individually.',
  },
  matched: { type: 'integer', description: 'Number of signatures that matched when the invalidation began.' },
  invalidated: { type: 'integer', description: 'The number of these signatures that no longer count.' },
  restored: { type: 'integer', description: 'The number of these signatures that count again.' },
});

export const invalidations = new Resource({
  object: 'invalidation',
  decider: invalidation,
  existing: (state) => (state.status === 'UNKNOWN' ? undefined : { ...state, petition: state.petitionId }),
  answers: invalidationSchema,
  version: 1,
  columns: { petition: { type: 'uuid', index: true } },
});
