import { createConfig, lintFromString } from '@redocly/openapi-core';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { longIt } from './length.js';
import { expectEntries } from '#libs/testing';
import { isId } from '#libs/rpc';
import { groupsOfContacts } from '../src/contacts/index.js';
import '../src/modules.js';
import { documentedReasons } from './documented.js';
import { SharedApi, Client } from './harness.js';
import { resolved } from './openapi.js';

/** The document that clients are generated from. It changes only on purpose, together with the code. */
const CHECKED_IN = join(__dirname, 'openapi.json');

type Schema = any;
type Operation = { method: string; path: string; definition: any };

let api: SharedApi;
let client: Client;
let document: any;
beforeAll(async () => {
  api = await SharedApi.open();
  client = await api.organization();
  // The server would close the idle connection while the linter computes, unnoticed by the next request.
  document = (await client.request('GET', '/openapi.json', undefined, { Connection: 'close' })).body;
});
afterAll(() => api.stop());

function operations(): Operation[] {
  return Object.entries<any>(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, definition]) => ({
        method: method.toUpperCase(),
        path,
        definition,
      })),
    )
    .filter(({ path }) => path.startsWith('/v1/'));
}

function find(path: string): Operation {
  return operations().find((operation) => operation.path === `/v1/${path}`)!;
}

/** Name, schema and `required` of every input field, from the query or the body. */
function fields({ definition }: Operation): Record<string, Schema> {
  // A streamed body is not JSON, so its fields are in the query.
  const body = definition.requestBody?.content['application/json']?.schema;
  const pairs = body
    ? Object.entries<Schema>(body.properties).map(
        ([name, schema]) => [name, { ...schema, required: body.required.includes(name) }] as const,
      )
    : definition.parameters
        .filter((parameter: any) => parameter.in === 'query')
        .map(({ name, schema, required }: any) => [name, { ...schema, required }]);
  return Object.fromEntries(pairs);
}

function answerSchema({ definition }: Operation): Schema {
  return definition.responses['200'].content['application/json'].schema;
}

describe('the OpenAPI document', () => {
  it('matches the checked-in file (UPDATE_OPENAPI=1 updates it)', () => {
    if (process.env.UPDATE_OPENAPI) writeFileSync(CHECKED_IN, `${JSON.stringify(document, null, 2)}\n`);
    expect(existsSync(CHECKED_IN)).toBe(true);
    expect(document).toEqual(JSON.parse(readFileSync(CHECKED_IN, 'utf8')));
  });

  it('is OpenAPI 3.1: every operation has an id, a tag, security, responses and valid schemas', () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(document.info).toMatchObject({ title: expect.any(String), version, license: { name: 'MIT' } });
    const { securitySchemes } = document.components;
    expect(securitySchemes.bearer).toMatchObject({ type: 'http', scheme: 'bearer' });
    const ids = operations().map(({ definition }) => definition.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const operation of operations()) {
      const { path, definition } = operation;
      const [service, method] = path.slice('/v1/'.length).split('.') as [string, string];
      expect([camelCase(method), camelCase(`${service}-${method}`)]).toContain(definition.operationId);
      expect(definition.tags).toEqual([service]);
      expect(document.tags).toContainEqual({ name: service, description: expect.stringMatching(/\.$/) });
      expect(definition.summary).not.toBe('');
      expect(definition.security).toEqual([{ bearer: [] }]);
      expect(Object.keys(definition.responses)).toEqual(
        expect.arrayContaining(['200', '400', '401', '403', '429', '500', '503']),
      );
      for (const status of Object.keys(definition.responses)) {
        const { description, content } = responseOf(definition, status);
        expect(description).not.toBe('');
        for (const { schema } of Object.values<any>(content)) expectValid(schema);
      }
      for (const status of Object.keys(definition.responses).filter((one) => one !== '200')) {
        expectExamples(operation, status);
      }
      Object.values(fields(operation)).forEach(({ required, ...schema }) => expectValid(schema));
    }
  });

  longIt('follows the recommended rules of Redocly', async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const problems = await lintFromString({ source: JSON.stringify(document), config });
    const found = problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]);
    expect(found).toEqual([]);
  });

  it('documents the errors of the log routes, which are not operations', () => {
    for (const route of ['checkpoint', 'tile/{path}']) {
      const { responses } = document.paths[`/log/{organizationId}/${route}`].get;
      expect(Object.keys(responses)).toEqual(
        expect.arrayContaining(['200', '401', '404', '409', '429', '503']),
      );
      expect(responses['409'].description).toBe('CONFLICT, by `reason`: NOT_SEALED');
    }
  });

  it('lets a client send null where a description explains null', () => {
    const untyped: string[] = [];
    const visit = (value: any, path: string) => {
      if (typeof value !== 'object' || value === null) return;
      const explains = typeof value.description === 'string' && /\bnull: /.test(value.description);
      if (explains && value.type && ![value.type].flat().includes('null')) untyped.push(path);
      for (const [name, each] of Object.entries(value)) visit(each, `${path}/${name}`);
    };
    visit(document.paths, '');
    expect(untyped).toEqual([]);
  });

  it('describes a file as binary, and in a form next to its fields', () => {
    const { content } = document.paths['/v1/image.upload-image'].post.requestBody;
    const file = { type: 'string', format: 'binary' };
    expect(content['image/png'].schema).toEqual(file);
    expect(content['multipart/form-data'].schema).toEqual({
      type: 'object',
      required: ['file'],
      properties: { file, name: expect.anything(), alt: expect.anything() },
    });
  });

  it('requires exactly one of fields that exclude each other', () => {
    const { schema } =
      document.paths['/v1/petition.add-signature'].post.requestBody.content['application/json'];
    expect(schema.oneOf).toEqual([{ required: ['contactId'] }, { required: ['contact'] }]);
  });

  it('contains no name of a class, table or file', () => {
    expect(JSON.stringify(document)).not.toMatch(/Controller|Handler|_v1\b|#libs|\.ts\b|[a-z]+_[a-z]+/);
  });
});

/** All operations share a response. */
function responseOf(definition: any, status: string): any {
  const response = definition.responses[status];
  return response.$ref ? document.components.responses[response.$ref.split('/').at(-1)] : response;
}

const camelCase = (words: string) => words.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Most operations share responses, and each is checked once. */
const examined = new Set<unknown>();

/** One response for each reason of the status in this operation, and for each code without a reason. */
function expectExamples({ method, path, definition }: Operation, status: string): void {
  const response = responseOf(definition, status);
  if (examined.has(response)) return;
  examined.add(response);
  const { schema, examples } = response.content['application/json'];
  const shown = Object.entries<any>(examples).map(([name, { $ref }]) => {
    expect($ref).toBe(`#/components/examples/${name}`);
    const { error } = document.components.examples[name].value;
    const { properties, required } = resolved(document, schema).properties.error;
    for (const member of required) expect(error).toHaveProperty(member);
    expect(properties.code.enum).toContain(error.code);
    expect(name).toBe(error.reason ?? error.code);
    return error;
  });
  const reasons = documentedReasons(method, path, Number(status));
  expect(shown.flatMap(({ reason }) => reason ?? []).sort()).toEqual([...reasons!].sort());
}

const TYPES = ['string', 'integer', 'number', 'boolean', 'object', 'array', 'null'];

/** Most operations share schemas, and checking each one once takes a tenth of the time. */
const valid = new Set<Schema>();

function expectValid(given: Schema): void {
  const schema = resolved(document, given);
  if (valid.has(schema)) return;
  valid.add(schema);
  for (const type of [schema.type ?? []].flat()) expect(TYPES).toContain(type);
  for (const name of schema.required ?? []) expect(Object.keys(schema.properties)).toContain(name);
  if ([schema.type].flat().includes('array')) expect(schema.items).toBeDefined();
  Object.values(schema.properties ?? {}).forEach(expectValid);
  if (typeof schema.additionalProperties === 'object') expectValid(schema.additionalProperties);
  if (schema.items) expectValid(schema.items);
}

describe('the contact operations', () => {
  const text = { type: ['string', 'null'], required: false };
  const details = {
    firstName: text,
    lastName: text,
    bio: text,
    phone: text,
    mobile: text,
    address: text,
    zip: text,
    city: text,
    region: text,
    country: text,
  };
  const extras = {
    externalIds: { type: ['array', 'null'], required: false },
    customFields: { type: ['object', 'null'], required: false },
  };
  const id = { type: 'string', required: true };
  const expectedVersion = { type: 'integer', minimum: 0, required: false };
  const ownOrganization = { type: 'string', required: false };
  const moment = { type: 'string', format: 'date-time', required: false };
  const filter = { type: 'string', required: false };

  const names = { type: 'array', required: false };
  const assigned = Object.fromEntries(
    groupsOfContacts().map(({ kind, assignedBy }) => [
      assignedBy === 'name' ? `${kind}s` : `${kind}Ids`,
      names,
    ]),
  );
  const byGroup = Object.fromEntries(groupsOfContacts().map(({ resource }) => [resource.idField, filter]));

  const inputs = {
    'POST contact.create-contact': {
      organizationId: id,
      email: { type: 'string', format: 'idn-email', required: true },
      subscribed: { type: 'boolean', default: true, required: false },
      onConflict: { type: 'string', enum: ['fail', 'update'], default: 'fail', required: false },
      consent: { type: 'object', required: false },
      ...assigned,
      ...details,
      ...extras,
    },
    'GET contact.get-contact': {
      contactId: filter,
      externalId: filter,
      email: { type: 'string', format: 'idn-email', required: false },
      organizationId: id,
      asOf: moment,
      include: { type: 'array', required: false },
    },
    'GET contact.list-contacts': {
      organizationId: ownOrganization,
      email: { type: 'string', format: 'idn-email', required: false },
      externalId: filter,
      subscribed: { type: 'boolean', required: false },
      country: filter,
      region: filter,
      city: filter,
      zip: filter,
      ...byGroup,
      petitionId: filter,
      segmentId: filter,
      q: filter,
      limit: { type: 'integer', minimum: 1, maximum: 100, default: 25, required: false },
      cursor: filter,
      sort: {
        type: 'string',
        enum: ['createdAt', '-createdAt', 'updatedAt', '-updatedAt', 'email', '-email'],
        default: '-createdAt',
        required: false,
      },
      createdAfter: moment,
      createdBefore: moment,
      updatedAfter: moment,
      updatedBefore: moment,
      asOf: moment,
    },
    'POST contact.import-contacts': {
      organizationId: ownOrganization,
      listId: filter,
      onConflict: { type: 'string', enum: ['fail', 'update'], default: 'fail', required: false },
      subscribed: { type: 'boolean', required: false },
      unknown: { type: 'string', enum: ['refuse', 'ignore'], default: 'refuse', required: false },
      map: { type: 'string', maxLength: 10_000, required: false },
    },
    'GET contact.export-contacts': {
      contactIds: names,
      organizationId: ownOrganization,
      email: { type: 'string', format: 'idn-email', required: false },
      externalId: filter,
      subscribed: { type: 'boolean', required: false },
      country: filter,
      region: filter,
      city: filter,
      zip: filter,
      ...byGroup,
      petitionId: filter,
      segmentId: filter,
      q: filter,
      createdAfter: moment,
      createdBefore: moment,
      updatedAfter: moment,
      updatedBefore: moment,
      format: { type: 'string', enum: ['ndjson', 'csv'], default: 'ndjson', required: false },
    },
    'POST contact.update-contact': {
      organizationId: ownOrganization,
      contactId: id,
      expectedVersion,
      email: { type: 'string', format: 'idn-email', required: false },
      subscribed: { type: 'boolean', required: false },
      consent: { type: 'object', required: false },
      ...assigned,
      ...details,
      ...extras,
    },
    'DELETE contact.delete-contact': { organizationId: ownOrganization, contactId: id, expectedVersion },
  };

  it.each(Object.entries(inputs))('%s accepts what the specification states', (name, expected) => {
    const [method, path] = name.split(' ') as [string, string];
    const operation = find(path);
    expect(operation.method).toBe(method);
    const found = fields(operation);
    expect(found).toMatchObject(expected);
    expectEntries(`\`${name}\` in test/documentation.e2e.spec.ts`, Object.keys(expected), Object.keys(found));
  });

  it('document that null clears the optional details', async () => {
    const { organizationId } = client;
    for (const name of Object.keys(details)) {
      expect(Object.keys(fields(find('contact.create-contact'))[name])).not.toContain('minLength');
    }
    const empty = Object.fromEntries(Object.keys(details).map((name) => [name, '']));
    const body = { organizationId, email: 'empty@example.org', ...empty };
    expect((await client.post('contact.create-contact', body)).status).toBe(200);
  });

  it('return exactly the keys and types of their schemas', async () => {
    const { organizationId } = client;
    const created = await client.post('contact.create-contact', { organizationId, email: 'ada@example.org' });
    const { contactId } = created.body.data;
    const full = {
      contactId,
      subscribed: false,
      ...Object.fromEntries(Object.keys(details).map((name) => [name, 'x'])),
    };
    const answers = {
      'contact.create-contact': [created],
      'contact.get-contact': [await client.get('contact.get-contact', { contactId, organizationId })],
      'contact.list-contacts': [
        await client.get('contact.list-contacts'),
        await client.get('contact.list-contacts', { city: 'Nowhere' }),
      ],
      'contact.update-contact': [
        await client.post('contact.update-contact', { contactId, city: null }),
        await client.post('contact.update-contact', full),
      ],
      'contact.delete-contact': [await client.delete('contact.delete-contact', { contactId })],
    };
    for (const [path, given] of Object.entries(answers)) {
      for (const { status, body } of given) {
        expect(status).toBe(200);
        expectToFit(body, answerSchema(find(path)), path);
      }
    }
    const { definition } = find('contact.get-contact');
    const failed = await client.get('contact.get-contact');
    expectToFit(failed.body, definition.responses['400'].content['application/json'].schema, 'error');
  });

  it('health matches its schema', async () => {
    for (const path of ['/health/live', '/health/ready']) {
      const { body } = await client.request('GET', path);
      const { schema } = document.paths[path].get.responses['200'].content['application/json'];
      expectToFit(body, schema, path);
    }
  });
});

/** Checks a value against a schema. Optional properties may be missing, and undocumented ones may not occur. */
function expectToFit(value: any, given: Schema, where: string): void {
  const schema = resolved(document, given);
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  const types = [schema.type].flat().map((name) => (name === 'integer' ? 'number' : name));
  expect({ where, types }).toEqual({ where, types: expect.arrayContaining([type]) });
  if (schema.enum) expect(schema.enum).toContain(value);
  if (schema.format === 'date-time') expect(new Date(value).toISOString()).toBe(value);
  if (value !== null && schema.format === 'uuid')
    expect({ where, isId: isId(value) }).toEqual({ where, isId: true });
  if (value !== null && schema.format === 'uri') expect(URL.canParse(value)).toBe(true);
  if (type === 'array') value.forEach((element: any) => expectToFit(element, schema.items, `${where}[]`));
  if (type !== 'object') return;
  if (typeof schema.additionalProperties === 'object') {
    for (const [key, inner] of Object.entries(value))
      expectToFit(inner, schema.additionalProperties, `${where}.${key}`);
    return;
  }
  expect({ where, keys: Object.keys(schema.properties) }).toEqual({
    where,
    keys: expect.arrayContaining(Object.keys(value)),
  });
  expect({ where, keys: Object.keys(value) }).toEqual({
    where,
    keys: expect.arrayContaining(schema.required),
  });
  for (const [key, inner] of Object.entries(value)) {
    expectToFit(inner, schema.properties[key], `${where}.${key}`);
  }
}

describe('every operation of the document', () => {
  const call = (
    caller: Client,
    { method, path, definition }: Operation,
    input: string,
    headers?: Record<string, string>,
  ) => {
    const [type = ''] = Object.keys(definition.requestBody?.content ?? {});
    if (type === 'application/json') return caller.request(method, path, input, headers);
    const body = method === 'GET' ? undefined : input;
    const query = input === '{}' ? '' : '?unknown-field=1';
    return caller.request(method, path + query, body, { ...headers, ...(body && { 'Content-Type': type }) });
  };

  it('is served, and rejects a request without the required fields by naming exactly those', async () => {
    for (const operation of operations()) {
      const { status, body } = await call(client, operation, '{}');
      const required = Object.entries(fields(operation)).flatMap(([name, field]) =>
        field.required ? name : [],
      );
      const missing = (body.error?.issues ?? []).filter(({ message }: any) =>
        message.startsWith('is required'),
      );
      expect([operation.path, status, missing.map(({ path }: any) => path).sort()]).toEqual([
        operation.path,
        required.length > 0 ? 400 : expect.any(Number),
        required.sort(),
      ]);
      // The body is not an image.
      const isImage = 'image/png' in (operation.definition.requestBody?.content ?? {});
      expect(isImage ? [415] : [200, 400]).toContain(status);
    }
  });

  it('rejects a field that is not in the document', async () => {
    for (const operation of operations()) {
      const { status, body } = await call(client, operation, '{"unknown-field":1}');
      expect([operation.path, status]).toEqual([operation.path, 400]);
      expect(body.error.issues[0].path).toBe('unknown-field');
    }
  });

  it('has a request in the Postman collection, and those that create records work as they are', async () => {
    const collection = JSON.parse(readFileSync(join(__dirname, '../docs/reference/postman.json'), 'utf8'));
    const requests: any[] = collection.item.flatMap(({ item }: any) => item);
    expect(requests.map(({ request }) => `${request.method} /v1/${request.url.path[1]}`).toSorted()).toEqual(
      operations()
        .map(({ method, path }) => `${method} ${path}`)
        .toSorted(),
    );
    const { organizationId } = client;
    const person = { organizationId, email: 'of-notes@example.org' };
    const { contactId } = (await client.post('contact.create-contact', person)).body.data;
    const creates = requests.filter(({ name, request }) => /\.create-/.test(name) && request.body.raw);
    expect(creates.length).toBeGreaterThan(10);
    for (const { name, request } of creates) {
      const body = request.body.raw
        .replaceAll('{{organizationId}}', organizationId)
        .replaceAll('{{contactId}}', contactId);
      expect([name, await client.request('POST', `/v1/${name}`, body)]).toEqual([
        name,
        expect.objectContaining({ status: 200 }),
      ]);
    }
  });

  it('has requests in the Postman collection that read records as they are, and declares their variables', async () => {
    const text = readFileSync(join(__dirname, '../docs/reference/postman.json'), 'utf8');
    const collection = JSON.parse(text);
    const declared = collection.variable.map(({ key }: any) => key);
    expect([...new Set(Array.from(text.matchAll(/\{\{(\w+)\}\}/g), ([, name]) => name))].toSorted()).toEqual(
      declared.toSorted(),
    );
    const values: Record<string, string> = { url: '', organizationId: client.organizationId };
    const filled = (raw: string) =>
      raw.replace(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? randomUUID());
    const reads = collection.item
      .flatMap(({ item }: any) => item)
      .filter(({ request }: any) => request.method === 'GET');
    expect(reads.length).toBeGreaterThan(40);
    for (const { name, request } of reads) {
      const { status } = await client.request('GET', filled(request.url.raw));
      expect([name, [200, 404].includes(status)]).toEqual([name, true]);
    }
  });

  it('rejects requests without a key', async () => {
    const stranger = new Client(api.origin, '', undefined);
    for (const [n, operation] of operations().entries()) {
      const { status } = await call(stranger, operation, '{}', { 'X-Forwarded-For': `10.4.0.${n}` });
      expect([operation.path, status]).toEqual([operation.path, 401]);
    }
  });
});
