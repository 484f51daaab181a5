import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { resolved } from './openapi.js';

/** One per Jest worker, because parsing takes a quarter of a second. Globals persist from file to file. */
const worker = globalThis as { documentedApi?: any };

/** The checked-in OpenAPI document. */
function documented(): any {
  return (worker.documentedApi ??= JSON.parse(readFileSync(join(__dirname, 'openapi.json'), 'utf8')));
}

/** The documented reasons of an operation's status, or undefined if the status is undocumented. */
export function documentedReasons(method: string, path: string, status: number): string[] | undefined {
  const { paths, components } = documented();
  const found = paths[path][method.toLowerCase()].responses[status];
  if (!found) return undefined;
  const response = found.$ref ? components.responses[found.$ref.split('/').at(-1)] : found;
  const { error } = resolved(documented(), response.content['application/json'].schema).properties;
  return error.properties.reason?.enum ?? [];
}

/** @throws if an operation returns an undocumented error. */
export function requireDocumented(
  method: string,
  path: string,
  { status, body }: { status: number; body: any },
): void {
  if (status < 400 || !path.startsWith('/v1/')) return;
  if (!documented().paths[path]?.[method.toLowerCase()]) return;
  const { code, reason, message } = body.error;
  const reasons = documentedReasons(method, path, status);
  const isKnown = reason === undefined ? reasons !== undefined : reasons?.includes(reason);
  if (isKnown) return;
  throw new Error(
    `${method} ${path} returned ${status} ${code} ${reason ?? ''} (${message}), which test/openapi.json does not document. ` +
      'Declare it (@Operation, reasons) and update the document: UPDATE_OPENAPI=1 npm test -- documentation',
  );
}
