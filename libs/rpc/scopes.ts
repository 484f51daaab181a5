import { RpcError } from './errors.js';
import { type FieldSchema } from './fields.js';
import { type InputClass } from './input.js';
import { type OperationDefinition, operationOf } from './operation.js';

/** The scope of an operation: `contact:read` for reads, `contact:write` for changes, or a scope of its own. */
export function scopeOf({ name, method, scope }: OperationDefinition): string {
  return scope ?? `${name.split('.')[0]}:${method === 'GET' ? 'read' : 'write'}`;
}

let all: readonly string[] | undefined;

/** Declares the operations. Their scopes, by service in their order, are all that a key can have. */
export function declareScopes(operations: readonly InputClass[]): void {
  const needed = new Set(operations.map((input) => scopeOf(operationOf(input)!)));
  const services = new Set([...needed].map((scope) => scope.split(':')[0]!));
  const ordered = [...services].flatMap((service) => {
    const usual = [`${service}:read`, `${service}:write`];
    return [
      ...usual,
      ...[...needed].filter((scope) => scope.startsWith(`${service}:`) && !usual.includes(scope)),
    ];
  });
  all = ['*', ...ordered.filter((scope) => needed.has(scope))];
}

/**
 * `*`, and `<service>:read`, `<service>:write` and the scopes that operations name.
 *
 * @throws Error before `declareScopes`.
 */
export function allScopes(): readonly string[] {
  if (!all) throw new Error('Scopes are not available before the operations are declared.');
  return all;
}

/** The schema of a scope. Evaluated when it is printed, because the operations are declared last. */
export const scopeSchema: FieldSchema = {
  type: 'string',
  get enum() {
    return allScopes();
  },
};

const NEEDED = Symbol('needed scope');
const MAY_BE_PUBLIC = Symbol('may be public');

/**
 * Makes a route that is not an operation part of the API: its callers need a key with this scope, and the rate
 * limit applies.
 *
 * @param options.mayBePublic whether some of its content may be public. Then the route itself must reject
 *   callers without a key, from another organization, or without the scope.
 */
export function NeedsScope(scope: string, { mayBePublic = false } = {}): MethodDecorator {
  return (_target, _name, descriptor) => {
    Object.defineProperty(descriptor.value as object, NEEDED, { value: scope });
    Object.defineProperty(descriptor.value as object, MAY_BE_PUBLIC, { value: mayBePublic });
  };
}

/** See `NeedsScope`. */
export function mayBePublic(handler: object): boolean {
  return (handler as { [MAY_BE_PUBLIC]?: boolean })[MAY_BE_PUBLIC] === true;
}

/** The scope that a route of the API needs; undefined for any other route. */
export function scopeNeededBy(handler: object): string | undefined {
  const operation = operationOf(handler);
  return operation ? scopeOf(operation) : (handler as { [NEEDED]?: string })[NEEDED];
}

/** A description for the documentation. */
export function describeScopes(operation: OperationDefinition): string {
  const fieldsOf = new Map<string, string[]>();
  for (const [field, scope] of Object.entries(operation.fieldScopes ?? {}))
    fieldsOf.set(scope, [...(fieldsOf.get(scope) ?? []), `\`${field}\``]);
  const others = [...fieldsOf].map(
    ([scope, fields]) =>
      ` ${fields.join(' and ')} also ${fields.length > 1 ? 'need' : 'needs'} \`${scope}\`.`,
  );
  return `Needs the scope \`${scopeOf(operation)}\`.${others.join('')}`;
}

export function hasScope(scopes: readonly string[], scope: string): boolean {
  return scopes.includes('*') || scopes.includes(scope);
}

/** @throws RpcError INSUFFICIENT_PERMISSIONS */
export function requireScope(scopes: readonly string[], scope: string, field?: string): void {
  if (hasScope(scopes, scope)) return;
  const what = field === undefined ? '' : `, which \`${field}\` needs`;
  throw new RpcError(
    'INSUFFICIENT_PERMISSIONS',
    `This API key lacks the scope ${scope}${what}. Use a key that has it.`,
    { reason: 'SCOPE_MISSING' },
  );
}

/**
 * Checks the scopes of the given fields, which are required in addition to the operation's.
 *
 * @throws as {@link requireScope}.
 */
export function requireFieldScopes(
  { fieldScopes = {} }: OperationDefinition,
  scopes: readonly string[],
  input: object,
): void {
  for (const [field, scope] of Object.entries(fieldScopes)) {
    const [name, word] = field.split('=') as [string, string?];
    const given = (input as Record<string, unknown>)[name];
    const isGiven =
      word === undefined ? given !== undefined : (given as string[] | undefined)?.includes(word);
    if (isGiven) requireScope(scopes, scope, field);
  }
}
