import { Resource } from '#libs/resources';
import { recordSchema, recordVersion, resourceSchema } from '#libs/rpc';
import { field, FIELD_TYPES, type FieldType } from './field.js';

export const fieldSchema = resourceSchema({
  version: recordVersion,
  key: {
    type: 'string',
    description:
      'Its name in `customFields`, in templates and in files. Derived from the name; never changes.',
  },
  name: { type: 'string' },
  type: { type: 'string', enum: FIELD_TYPES },
  options: {
    type: ['array', 'null'],
    items: { type: 'string' },
    description: 'The options to choose from; null unless the type is CHOICE or CHOICES.',
  },
});

export type FieldRecord = {
  id: string;
  createdAt: string;
  updatedAt: string;
  key: string;
  name: string;
  type: FieldType;
  options: string[] | null;
  organizationId: string;
};

export const fieldIdSchema = recordSchema({ fieldId: { type: 'string' } });

export const fields = new Resource({
  object: 'field',
  decider: field,
  existing: (state) => (state.status === 'active' ? state : undefined),
  answers: fieldSchema,
  version: 1,
  columns: {
    name: { type: 'text', index: true, search: true },
    key: { type: 'text', search: true },
    type: { type: 'text' },
  },
});
