import { type Request } from 'express';
import { type RpcError } from './errors.js';
import { type PossibleError } from './possible-errors.js';

/**
 * By method and path. Evaluated when the first error is thrown, because other modules may still declare fields.
 */
const declared = new Map<
  string,
  { find: () => readonly PossibleError[]; errors?: readonly PossibleError[] }
>();

/**
 * Declares the errors that an operation can return. Paths without such a list are not operations and can return
 * any error.
 */
export function declareErrors(method: string, path: string, find: () => readonly PossibleError[]): void {
  declared.set(`${method} ${path}`, { find });
}

/** Whether the requested operation can return this error with its status, code and reason. */
export function isDeclared({ method, path }: Request, { code, status, details }: RpcError): boolean {
  // Express serves HEAD with the route for GET.
  const operation = declared.get(`${method === 'HEAD' ? 'GET' : method} ${path}`);
  if (!operation) return true;
  operation.errors ??= operation.find();
  const possible = operation.errors.find((error) => error.status === status);
  if (!possible?.codes.includes(code)) return false;
  return details.reason === undefined || possible.reasons.includes(details.reason);
}

/** Errors of this process that their operations do not declare: `POST /v1/… CONFLICT EMAIL_TAKEN`. */
export const undeclaredErrors = new Set<string>();
