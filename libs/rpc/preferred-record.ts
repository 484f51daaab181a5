import { type Request } from 'express';
import { type InputClass } from './input.js';
import { findOperation, type OperationDefinition, operationNamed } from './operation.js';
import { hasScope, scopeOf } from './scopes.js';

export const preferHeader = {
  name: 'Prefer',
  required: false,
  description:
    '`return=record` adds the fields of the new record to the response, which then has the header `Preference-Applied`. The key ' +
    'needs the scope that reads the record.',
  schema: { type: 'string', example: 'return=record' },
};

/** RFC 7240. `representation` is the standard's word for it. */
const PREFERENCE = /(?:^|[,;])\s*return\s*=\s*"?(record|representation)"?\s*(?:[,;]|$)/i;

/** The name of the operation that reads what this one creates: `contact.get-contact` for `contact.create-contact`. */
export function readerOf({ name }: OperationDefinition): string | undefined {
  const [, service, record] = /^([\w-]+)\.(?:create|duplicate|upload)-([\w-]+)$/.exec(name) ?? [];
  const reader = `${service}.get-${record}`;
  return service !== undefined && findOperation(reader) ? reader : undefined;
}

/** The query for the record that the client wants back and may read, and the preference to confirm. */
export function preferredRecord(
  { headers, caller }: Request,
  definition: OperationDefinition,
): { query: InputClass; applied: string } | undefined {
  const [, wanted] = PREFERENCE.exec(String(headers.prefer ?? '')) ?? [];
  if (wanted === undefined) return undefined;
  const reader = readerOf(definition);
  if (reader === undefined) return undefined;
  if (!hasScope(caller!.scopes, scopeOf(findOperation(reader)!))) return undefined;
  return { query: operationNamed(reader), applied: `return=${wanted.toLowerCase()}` };
}
