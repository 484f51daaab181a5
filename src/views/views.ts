import { Resource } from '#libs/resources';
import { recordSchema, recordVersion, resourceSchema } from '#libs/rpc';
import { view } from './view.js';

export const viewSchema = resourceSchema({
  version: recordVersion,
  name: { type: 'string' },
  operation: { type: 'string', description: 'The operation that lists the records.' },
  parameters: {
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'The filters of the list, and its `sort`.',
  },
  columns: {
    type: 'array',
    items: { type: 'string' },
    description: 'The columns that the dashboard shows. Empty for the usual ones.',
  },
});

export const viewIdSchema = recordSchema({ viewId: { type: 'string' } });

export const views = new Resource({
  object: 'view',
  decider: view,
  existing: (state) => (state.status === 'EXISTS' ? state : undefined),
  answers: viewSchema,
  version: 1,
  columns: { name: { type: 'text', index: true, search: true }, operation: { type: 'text' } },
});
