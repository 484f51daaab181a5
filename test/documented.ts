import { readFileSync } from 'node:fs';
import { join } from 'node:path';

let document: any;

/** The checked-in OpenAPI document. */
function documented(): any {
  return (document ??= JSON.parse(readFileSync(join(__dirname, 'openapi.json'), 'utf8')));
}

/** The documented reasons of an operation's status, or undefined if the status is undocumented. */
export function documentedReasons(method: string, path: string, status: number): string[] | undefined {
  const { paths, components } = documented();
  const response = paths[path][method.toLowerCase()].responses[status];
  if (!response) return undefined;
  const { schema } = response.content['application/json'];
  const [reference, narrower] = schema.allOf ?? [schema];
  const { reason } = components.schemas[reference.$ref.split('/').at(-1)].properties.error.properties;
  return narrower?.properties.error.properties.reason.enum ?? reason?.enum ?? [];
}

/** @throws if an operation returns an undocumented error. */
export function requireDocumented(
  method: string,
  path: string,
  { status, body }: { status: number; body: any },
): void {
  const isOperation = path.startsWith('/v1/') && documented().paths[path]?.[method.toLowerCase()];
  if (status < 400 || !isOperation) return;
  const { code, reason, message } = body.error;
  const reasons = documentedReasons(method, path, status);
  const isKnown = reason === undefined ? reasons !== undefined : reasons?.includes(reason);
  if (isKnown) return;
  throw new Error(
    `${method} ${path} returned ${status} ${code} ${reason ?? ''} (${message}), which test/openapi.json does not document. ` +
      'Declare it (@Operation, reasons) and update the document: UPDATE_OPENAPI=1 npm test -- documentation',
  );
}
