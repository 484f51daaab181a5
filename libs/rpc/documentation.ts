import { ERROR_STATUS } from './errors.js';
import { type FieldSchema, fieldsOf } from './fields.js';
import { type OperationDefinition } from './operation.js';

/** A record's schema: every field is always there, unset ones as null. */
export function recordSchema(fields: Record<string, FieldSchema>): FieldSchema {
  return { type: 'object', properties: fields, required: Object.keys(fields) };
}

export const timestamp: FieldSchema = { type: 'string', format: 'date-time' };
export const textOrNull: FieldSchema = { type: ['string', 'null'] };

/** An attached image; null until images can be stored. */
export const imageSchema: FieldSchema = {
  type: ['object', 'null'],
  properties: {
    name: { type: 'string' },
    url: { type: 'string' },
    alt: { type: 'string' },
    type: { type: 'string' },
  },
};

export function inputSchema(input: new () => object): object {
  const fields = [...fieldsOf(input)];
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      fields.map(([name, { schema, nested }]) => [
        name,
        nested ? { ...schema, ...inputSchema(nested()) } : schema,
      ]),
    ),
    required: fields.filter(([, { required }]) => required).map(([name]) => name),
  };
}

/** The schema of a 200 by media type. */
export function answerContent(
  definition: OperationDefinition,
  hasPast: boolean,
): Record<string, { schema: object }> {
  const { answers, answerTypes } = definition;
  if (!answerTypes) return { 'application/json': { schema: answerSchema(definition, hasPast) } };
  // NDJSON has no schema of its own: it is described by that of a line.
  const schemaOf = (type: string) => (type.endsWith('json') ? answers : { type: 'string' });
  return Object.fromEntries(answerTypes.map((type) => [type, { schema: schemaOf(type) }]));
}

function answerSchema({ answers, object, list }: OperationDefinition, hasPast: boolean): object {
  const envelope = {
    data: list ? { type: 'array', items: answers } : answers,
    object: { type: 'string', enum: [object] },
    ...(list ? { pagination: paginationSchema } : {}),
  };
  const schema = recordSchema(envelope);
  return hasPast ? { ...schema, properties: { ...schema.properties, asOf: pastSchema } } : schema;
}

const pastSchema = {
  ...recordSchema({ moment: { type: 'string', format: 'date-time' }, position: { type: 'integer' } }),
  description:
    'With `asOf`: the record follows from the events recorded up to the moment and stored up to the position.',
};

const paginationSchema = recordSchema({
  cursor: { type: ['string', 'null'], description: 'Give it as `cursor` for the next page.' },
  hasMore: { type: 'boolean' },
});

export const idempotencyKeyHeader = {
  name: 'Idempotency-Key',
  required: false,
  description:
    'In place of the body, says which requests are the same one: with a key used before, the answer is the ' +
    'one of that time, and nothing happens twice. Kept for at least 24 hours.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

export const errorSchema: object = recordSchema({
  error: {
    type: 'object',
    required: ['code', 'message', 'docs', 'requestId'],
    properties: {
      code: { type: 'string', enum: Object.keys(ERROR_STATUS) },
      message: { type: 'string' },
      docs: { type: 'string', format: 'uri' },
      requestId: { type: 'string' },
      issues: {
        type: 'array',
        description: 'On BAD_REQUEST: what is wrong, field by field.',
        items: recordSchema({ path: { type: 'string' }, message: { type: 'string' } }),
      },
    },
  },
});
