import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mismatches, resolved } from './openapi.js';

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

/** Headers that the document declares, if a response can have them. */
const HEADERS = /^(etag|allow|retry-after|idempotent-replayed|preference-applied|ratelimit.*|x-request-id)$/;

/** With `Prefer: return=record`, a response has the fields of the id and those of the record. */
function withRecord(path: string, ofId: any): any {
  const reads = documented().paths[path.replace(/\.[a-z]+-/, '.get-')].get.responses['200'];
  const [id, record] = [ofId, reads.content['application/json'].schema].map(
    (schema) => resolved(documented(), schema).properties,
  );
  return { properties: { data: { allOf: [record.data, id.data] }, object: id.object } };
}

/** Where a successful response differs from the document. */
function differences(
  path: string,
  definition: any,
  { body, headers }: { body: unknown; headers?: Headers },
): string[] {
  const { content, headers: declared = {} } = definition.responses['200'];
  const names = new Set(Object.keys(declared).map((name) => name.toLowerCase()));
  const type = headers?.get('content-type')?.split(';', 1)[0] ?? 'application/json';
  const { schema: usual } = content[type] ?? {};
  const schema = usual && headers?.has('preference-applied') ? withRecord(path, usual) : usual;
  const isJson = type === 'application/json';
  return [
    ...(schema ? [] : [`the media type ${type} is unknown`]),
    ...(schema && isJson ? mismatches(schema, body, 'body', documented()) : []),
    ...[...(headers?.keys() ?? [])]
      .filter((name) => HEADERS.test(name) && !names.has(name))
      .map((name) => `the header ${name} is unknown`),
  ];
}

/** @throws if an operation returns an undocumented error, body or header. */
export function requireDocumented(
  method: string,
  path: string,
  answer: { status: number; body: any; headers?: Headers },
): void {
  const { status, body } = answer;
  const definition = documented().paths[path]?.[method.toLowerCase()];
  if (!path.startsWith('/v1/') || !definition) return;
  if (status === 200) {
    const found = differences(path, definition, answer);
    if (found.length > 0)
      throw new Error(`${method} ${path} differs from test/openapi.json: ${found.slice(0, 5).join('; ')}`);
  }
  if (status < 400) return;
  const { code, reason, message } = body.error;
  const reasons = documentedReasons(method, path, status);
  const isKnown = reason === undefined ? reasons !== undefined : reasons?.includes(reason);
  if (isKnown) return;
  throw new Error(
    `${method} ${path} returned ${status} ${code} ${reason ?? ''} (${message}), which test/openapi.json does not document. ` +
      'Declare it (@Operation, reasons) and update the document: UPDATE_OPENAPI=1 npm test -- documentation',
  );
}
