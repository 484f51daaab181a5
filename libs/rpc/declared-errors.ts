import { type Request } from 'express';
import { type RpcError } from './errors.js';
import { type PossibleError } from './possible-errors.js';

/** By method and path; found out when the first error is thrown, because other modules may still declare fields. */
const declared = new Map<
  string,
  { find: () => readonly PossibleError[]; errors?: readonly PossibleError[] }
>();

/** What an operation may answer; of paths without such a list, which are no operations, any error is right. */
export function declareErrors(method: string, path: string, find: () => readonly PossibleError[]): void {
  declared.set(`${method} ${path}`, { find });
}

/** Whether the operation that is asked for, if it is one, may answer this error: its status, code and reason. */
export function isDeclared({ method, path }: Request, { code, status, details }: RpcError): boolean {
  // Express answers HEAD by the route for GET.
  const operation = declared.get(`${method === 'HEAD' ? 'GET' : method} ${path}`);
  if (!operation) return true;
  operation.errors ??= operation.find();
  const possible = operation.errors.find((error) => error.status === status);
  if (!possible?.codes.includes(code)) return false;
  return details.reason === undefined || possible.reasons.includes(details.reason);
}

/** Errors of this process that their operation does not declare: `POST /v1/… CONFLICT EMAIL_TAKEN`. */
export const undeclaredErrors = new Set<string>();
