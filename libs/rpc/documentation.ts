import {
  ERROR_CODES,
  type ErrorCode,
  explainedReasons,
  fieldsOfReason,
  type ErrorReason,
  isReasoned,
  reasonsOf,
} from './error-codes.js';
import { type FieldSchema, fieldsOf } from './fields.js';
import { type OperationDefinition } from './operation.js';
import { type PossibleError } from './possible-errors.js';

/**
 * A record's schema. Every field is always present; unset ones are null. Ids are UUIDs and addresses are URIs, unless their
 * schema has a `format` of its own, which may be undefined.
 */
export function recordSchema(fields: Record<string, FieldSchema>): FieldSchema {
  const properties = Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [name, withFormat(name, schema)]),
  );
  return { type: 'object', properties, required: Object.keys(fields) };
}

/** The schema of a kind of record: the fields that every record has, and the kind's own between them. */
export function resourceSchema(fields: Record<string, FieldSchema>): FieldSchema {
  const id = { type: 'string' } as const;
  return recordSchema({
    id,
    createdAt: timestamp,
    updatedAt: timestamp,
    ...fields,
    organizationId: id,
  });
}

function withFormat(name: string, schema: FieldSchema): FieldSchema {
  const { type, items } = schema;
  if (name.endsWith('Ids') && items) return { ...schema, items: withFormat('id', items) };
  if (![type].flat().includes('string') || 'format' in schema) return schema;
  if (/^id$|Id$/.test(name)) return { ...schema, format: 'uuid' };
  return /^url$|Url$/.test(name) ? { ...schema, format: 'uri' } : schema;
}

/** The schema of a record in lists, which contain `content` only on request. */
export function listedSchema(schema: FieldSchema): FieldSchema {
  const content = { ...schema.properties!.content, description: 'Only with `include=content`.' };
  return {
    ...schema,
    properties: { ...schema.properties, content },
    required: schema.required!.filter((name) => name !== 'content'),
  };
}

export const timestamp: FieldSchema = { type: 'string', format: 'date-time' };
export const timestampOrNull: FieldSchema = { type: ['string', 'null'], format: 'date-time' };
export const textOrNull: FieldSchema = { type: ['string', 'null'] };
/** The actor that caused an event. */
export const actorSchema = recordSchema({
  type: { type: 'string', enum: ['api-key', 'user', 'system', 'public'] },
  // The program itself and its command line have names.
  id: { ...textOrNull, format: undefined },
});

/** An attached image; null until images can be stored. */
export const imageSchema: FieldSchema = {
  type: ['object', 'null'],
  properties: {
    name: { type: 'string' },
    url: { type: 'string', format: 'uri' },
    alt: textOrNull,
    type: { type: 'string' },
  },
  required: ['name', 'url', 'alt', 'type'],
};

export function inputSchema(input: new () => object): FieldSchema {
  const fields = [...fieldsOf(input)];
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      fields.map(([name, { schema, nested }]) => [
        name,
        nested ? within(schema, inputSchema(nested())) : schema,
      ]),
    ),
    required: fields.filter(([, { required }]) => required).map(([name]) => name),
  };
}

/** The schema of a field that contains objects. @param own of each object */
function within(schema: FieldSchema, own: FieldSchema): FieldSchema {
  const { type, additionalProperties: each } = schema;
  if (type === 'array') return { ...schema, items: own };
  if (typeof each === 'object') return { ...schema, additionalProperties: { ...own, ...each } };
  return { ...own, ...schema };
}

/** The schema of a response with status 200, by media type. */
export function answerContent(
  definition: OperationDefinition,
  hasPast: boolean,
): Record<string, { schema: object }> {
  const { answers, answerTypes } = definition;
  if (!answerTypes) return { 'application/json': { schema: answerSchema(definition, hasPast) } };
  // NDJSON has no schema of its own, so the schema of a line describes it.
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
    'With `asOf`: the record reflects the events recorded until this moment and stored up to this position.',
};

const paginationSchema = recordSchema({
  cursor: { type: ['string', 'null'], description: 'Send it as `cursor` to get the next page.' },
  hasMore: { type: 'boolean' },
});

/** Parts of many responses, under the names that generated clients show. */
export const sharedSchemas = {
  Actor: actorSchema,
  AttachedImage: imageSchema,
  Pagination: paginationSchema,
  Past: pastSchema,
};

export const idempotencyKeyHeader = {
  name: 'Idempotency-Key',
  required: false,
  description:
    'Identifies the request. A repeat with the same key returns the first response and changes nothing. ' +
    'Keys are kept for 48 hours.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

/** The errors of one status, with these reasons. */
function errorSchema({ status, codes, reasons }: PossibleError): FieldSchema {
  const issues: FieldSchema = {
    type: 'array',
    description: 'The problems, field by field.',
    items: recordSchema({ path: { type: 'string' }, message: { type: 'string' } }),
  };
  const isAlwaysReasoned = codes.every(isReasoned);
  return recordSchema({
    error: {
      type: 'object',
      required: [
        'code',
        ...(isAlwaysReasoned ? ['reason'] : []),
        'message',
        'docs',
        'requestId',
        ...(status === 412 ? ['version'] : []),
      ],
      properties: {
        code: { type: 'string', enum: codes },
        ...(reasons.length > 0 ? { reason: { type: 'string', enum: reasons } } : {}),
        message: { type: 'string' },
        docs: { type: 'string', format: 'uri', description: 'A page that explains the code and the reason.' },
        requestId: { type: 'string' },
        // A conflict lists its issues if there are several blockers.
        ...(status === 400 || status === 409 ? { issues } : {}),
        ...(status === 412 ? { version: { type: 'integer', description: 'The current version.' } } : {}),
        ...fieldsOfReasons({ codes, reasons }),
      },
    },
  });
}

/** The additional fields of errors with these reasons. */
function fieldsOfReasons({
  codes,
  reasons,
}: Pick<PossibleError, 'codes' | 'reasons'>): Record<string, FieldSchema> {
  const all = reasons.flatMap((reason) =>
    codes
      .flatMap((code) => Object.entries(fieldsOfReason(code, reason)))
      .map(([name, { description }]) => ({ name, reason, description })),
  );
  return Object.fromEntries(
    all.map(({ name, description }): [string, FieldSchema] => {
      const having = all.filter((field) => field.name === name).map(({ reason }) => `\`${reason}\``);
      return [name, { type: 'string', description: `With ${having.join(' or ')}: ${description}` }];
    }),
  );
}

/**
 * An example for each reason, and for each code without reasons, under the names that `errorContent` refers to.
 */
export function errorExamples(): Record<string, object> {
  return Object.fromEntries(
    ERROR_CODES.flatMap((code) =>
      [...(isReasoned(code) ? [] : [undefined]), ...reasonsOf(code)].map((reason): [string, object] => [
        reason ?? code,
        errorExample(code, reason),
      ]),
    ),
  );
}

export function errorExample(code: ErrorCode, reason?: ErrorReason): { summary: string; value: object } {
  const message =
    reason === undefined
      ? 'One sentence that describes the problem, for people.'
      : explainedReasons(code)[reason];
  const docs = `https://api.example.org/errors/${code}${reason === undefined ? '' : `#${reason}`}`;
  const issues = [{ path: 'email', message: 'must be an email address' }];
  const fields = reason === undefined ? [] : Object.entries(fieldsOfReason(code, reason));
  return {
    summary: reason ?? code,
    value: {
      error: {
        code,
        ...(reason === undefined ? {} : { reason }),
        message,
        docs,
        requestId: '0197a3c0-0000-7000-8000-000000000000',
        ...(code === 'BAD_REQUEST' ? { issues } : {}),
        ...(code === 'VERSION_MISMATCH' ? { version: 3 } : {}),
        ...Object.fromEntries(fields.map(([name, { example }]) => [name, example])),
      },
    },
  };
}

export function errorContent(error: PossibleError): {
  description: string;
  content: Record<string, { schema: object; examples: Record<string, { $ref: string }> }>;
} {
  const { codes, reasons } = error;
  const names = [...codes.filter((code) => !isReasoned(code)), ...reasons];
  const examples = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/examples/${name}` }]));
  return {
    description: `${codes.join(' or ')}${reasons.length > 0 ? `, by \`reason\`: ${reasons.join(', ')}` : ''}`,
    content: { 'application/json': { schema: errorSchema(error), examples } },
  };
}
