import type * as Swagger from '@nestjs/swagger';
import { answerContent, errorContent, idempotencyKeyHeader, inputSchema } from './documentation.js';
import { ifMatchHeader } from './expected-version.js';
import { fieldsOf } from './fields.js';
import { type InputClass } from './input.js';
import { type OperationDefinition } from './operation.js';
import { possibleErrors } from './possible-errors.js';
import { preferHeader, readerOf } from './preferred-record.js';
import { describeScopes, scopeOf } from './scopes.js';

export function operationDocumentation(
  swagger: typeof Swagger,
  input: InputClass,
  definition: OperationDefinition,
): MethodDecorator[] {
  const { name, summary, description, fieldScopes = {} } = definition;
  const { ApiTags, ApiOperation, ApiExtension, ApiResponse } = swagger;
  const [service] = name.split('.') as [string];
  return [
    ApiTags(service),
    ApiOperation({
      operationId: name,
      summary,
      description: [description, describeScopes(definition)].filter(Boolean).join(' '),
    }),
    ApiExtension('x-required-scope', scopeOf(definition)),
    ApiExtension('x-scopes-of-fields', fieldScopes),
    ...inputDocumentation(swagger, input, definition),
    ApiResponse({
      status: 200,
      description: 'Done',
      content: answerContent(definition, fieldsOf(input).has('asOf')),
    }),
    ...errorDocumentation(swagger, input, definition),
  ];
}

/** The documentation of an operation's errors, or of a route that behaves like such an operation. */
export function errorDocumentation(
  { ApiResponse }: typeof Swagger,
  ...shape: Parameters<typeof possibleErrors>
): MethodDecorator[] {
  return possibleErrors(...shape).map((error) =>
    ApiResponse({ status: error.status, ...errorContent(error) }),
  );
}

function inputDocumentation(
  { ApiBody, ApiConsumes, ApiHeader, ApiQuery }: typeof Swagger,
  input: InputClass,
  definition: OperationDefinition,
): MethodDecorator[] {
  const { method, bodyTypes, exactlyOne, isConditional } = definition;
  const query = [...fieldsOf(input)].map(([name, { required, schema }]) => {
    const { description, ...rest } = schema;
    return ApiQuery({
      name,
      required,
      schema: rest as object,
      // One text with commas.
      ...(rest.type === 'array' ? { style: 'form', explode: false } : {}),
      ...(description === undefined ? {} : { description }),
    });
  });
  if (method === 'GET') return query;
  const prefer = readerOf(definition) === undefined ? [] : [ApiHeader(preferHeader)];
  if (!bodyTypes) {
    const oneOf = exactlyOne?.map((name) => ({ required: [name] }));
    return [
      ApiBody({ schema: { ...(inputSchema(input) as object), ...(oneOf && { oneOf }) }, required: true }),
      ApiHeader(idempotencyKeyHeader),
      ...(isConditional ? [ApiHeader(ifMatchHeader)] : []),
      ...prefer,
    ];
  }
  const body = ApiBody({ schema: { type: 'string' }, required: true });
  return [...query, ApiConsumes(...bodyTypes), body, ApiHeader(idempotencyKeyHeader), ...prefer];
}
