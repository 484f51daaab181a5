import { parse } from 'csv-parse/sync';
import { readFileSync } from 'node:fs';
import { type Client, SharedApi } from './harness.js';
import { resolved } from './openapi.js';

type Schema = {
  type?: string | string[];
  enum?: unknown[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
};

const documented = JSON.parse(readFileSync('test/openapi.json', 'utf8'));
/** The schema of a line of each streaming export. Those of imports are tested with imports. */
const schemas = new Map<string, Schema>(
  Object.entries(documented.paths).flatMap(([path, operations]) => {
    const schema = (operations as any).get?.responses['200'].content?.['application/x-ndjson']?.schema;
    if (!schema || path.startsWith('/v1/import.')) return [];
    return [[path.slice('/v1/'.length), resolved(documented, schema)]];
  }),
);

let api: SharedApi;
let client: Client;
let petitionId: string;
beforeAll(async () => {
  api = await SharedApi.open();
  client = await api.organization();
  petitionId = (await client.post('petition.create-petition', { name: 'Dam' })).body.data.petitionId;
  await client.post('petition.publish-petition', { petitionId });
  const ada = { email: 'ada@example.org', firstName: 'Ada', city: 'London' };
  await client.post('petition.add-signature', { petitionId, contact: ada, comment: 'Why' });
  await client.post('petition.add-signature', { petitionId, contact: { email: 'bob@example.org' } });
});

/** Each export with each parameter that changes its rows. */
const QUERIES: Record<string, () => Record<string, string>[]> = {
  'contact.export-contacts': () => [{ format: 'ndjson' }, { format: 'csv' }],
  'history.export-events': () => [{}],
  'petition.export-signatures': () =>
    ['ndjson', 'csv'].flatMap((format) =>
      ['false', 'true'].map((contacts) => ({ petitionId, format, contacts })),
    ),
  'petition.get-count-certificate': () => [{ petitionId }],
};

it('covers every streaming export', () => {
  expect(Object.keys(QUERIES)).toEqual([...schemas.keys()].toSorted());
});

it.each([...schemas.keys()])('%s returns rows that match the documented schema', async (name) => {
  const schema = schemas.get(name)!;
  for (const query of QUERIES[name]!()) {
    const { status, body } = await client.get(name, query);
    expect(status).toBe(200);
    if (query.format === 'csv') {
      const rows = parse<object>(body, { columns: true });
      expect(rows).toHaveLength(2);
      // In CSV, each custom field has a column of its own.
      const { customFields: _, ...properties } = schema.properties!;
      const columns = {
        properties,
        required: (schema.required ?? []).filter((field) => field in properties),
      };
      for (const row of rows) expect(namesThatDiffer(Object.keys(row), columns)).toEqual([]);
      continue;
    }
    const rows = body.split('\n').filter((line: string) => line !== '');
    expect(rows.length).toBeGreaterThan(1);
    for (const row of rows) expect(differences(JSON.parse(row), schema)).toEqual([]);
  }
});

function differences(value: any, given: Schema, path = ''): string[] {
  const schema: Schema = resolved(documented, given);
  const type = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
  const allowed = [schema.type ?? []].flat();
  const isNumber = type === 'number' && (allowed.includes('integer') ? Number.isInteger(value) : false);
  if (allowed.length > 0 && !allowed.includes(type) && !isNumber) return [`${path} is ${type}`];
  if (schema.enum && !schema.enum.includes(value)) return [`${path} is ${JSON.stringify(value)}`];
  if (type === 'array')
    return value.flatMap((item: unknown, n: number) =>
      differences(item, schema.items ?? {}, `${path}[${n}]`),
    );
  if (type !== 'object' || !schema.properties) return [];
  return [
    ...namesThatDiffer(Object.keys(value), schema),
    ...Object.entries(value).flatMap(([field, inside]) =>
      differences(inside, schema.properties![field] ?? {}, `${path}.${field}`),
    ),
  ];
}

function namesThatDiffer(names: readonly string[], { properties = {}, required = [] }: Schema): string[] {
  return [
    ...required.filter((field) => !names.includes(field)).map((field) => `${field} is missing`),
    ...names.filter((field) => !(field in properties)).map((field) => `${field} is not documented`),
  ];
}
