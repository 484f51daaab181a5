import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client as Connection } from 'pg';
import { NIL, v7 as uuid } from 'uuid';
import { Commands } from '#libs/commands';
import {
  allScopes,
  ERROR_CODES,
  ERROR_STATUS,
  fieldsOf,
  operationNamed,
  operationOf,
  type OwnReason,
  reasonsOf,
  systemInput,
} from '#libs/rpc';
import { expectEntries } from '#libs/testing';
import { groupsOfContacts } from '../src/contacts/index.js';
import { operations, projections, streams } from '../src/modules.js';
import { CreateOrganization } from '../src/organizations/index.js';
import { documentedReasons, requireDocumented } from './documented.js';
import { csv, type Fields, Fixture } from './fixture.js';
import { type Answer, Api, Client, DatabaseGate } from './harness.js';
import { isLong } from './length.js';
import { type OperationRow, OPERATIONS } from './operations.js';
import { OTHER_LISTS_OF_THE_PAST, RECORD_KINDS } from './record-kinds.js';

const SCOPES = allScopes();
const ROWS = Object.entries(OPERATIONS);
const definitionOf = (name: string) => operationOf(operationNamed(name))!;
const isRead = (name: string) => definitionOf(name).method === 'GET';

/** The operations of the checked-in document. */
const DOCUMENTED = Object.fromEntries(
  Object.entries<object>(JSON.parse(readFileSync(join(__dirname, 'openapi.json'), 'utf8')).paths)
    .filter(([path]) => path.startsWith('/v1/'))
    .map(([path, methods]) => [path.slice('/v1/'.length), Object.values(methods)[0]]),
);

let api: Api;
let gate: DatabaseGate | undefined;
let own: Fixture;
let client: Client;
beforeAll(async () => {
  api = await Api.start({ environment: { TRUST_PROXY: 'true' } });
});
afterAll(async () => {
  await api.stop();
  gate?.stop();
});
/**
 * @param hook `beforeEach` if tests depend on more than their own records. Tests of the tables need no
 * organization.
 */
const hasOrganization = (hook: typeof beforeAll) =>
  hook(async () => {
    client = await api.organization();
    own = new Fixture(api, client);
  });

describe('the tables', () => {
  /** Operations without a `create` column, because their records are not created by repeatable requests. */
  const NOT_CREATED = [
    // A suppression is a state of an address, with the same stream each time.
    'suppression.create-suppression',
    // Notes have no name. `notes.e2e` repeats the request.
    'note.create-note',
    'note.update-note',
    // No one creates them: they begin with the membership.
    'notification.update-settings',
    // It changes many contacts.
    'contact.update-contacts',
    // No request creates an organization, an image is identified by its bytes (image.e2e), and a member has no name.
    ...[
      'organization.update-organization',
      'image.update-image',
      'team.update-member',
      'import.create-import',
    ],
  ];

  const columnsOf = (row: OperationRow) => ({
    answeredBy: row.answeredBy !== undefined,
    create: row.create !== undefined,
    reasons: Object.keys(row.reasons ?? {}).toSorted(),
  });

  const names = operations.map((input) => operationOf(input)!.name);
  it.each([...new Set([...names, ...Object.keys(DOCUMENTED), ...Object.keys(OPERATIONS)])])(
    '%s has a row in test/operations.ts with exactly the columns that it needs',
    (name) => {
      expectEntries(
        'the rows of test/operations.ts',
        name in OPERATIONS ? [name] : [],
        names.filter((one) => one === name),
      );
      expectEntries(
        'test/openapi.json, with UPDATE_OPENAPI=1 npm test -- documentation',
        name in DOCUMENTED ? [name] : [],
        names.filter((one) => one === name),
      );
      const { method, reasons = [] } = definitionOf(name);
      expect(columnsOf(OPERATIONS[name]!)).toEqual({
        answeredBy: method === 'GET',
        create: name.includes('.create-') && !NOT_CREATED.includes(name),
        reasons: reasons.toSorted(),
      });
    },
  );

  it.each(names.filter((name) => name.includes('.update-') && !NOT_CREATED.includes(name)))(
    '%s is the `update` of the operation that creates its record',
    (name) =>
      expectEntries(
        'the columns `create.update` of test/operations.ts',
        ROWS.flatMap(([, { create }]) => (create?.update === name ? [name] : [])),
        [name],
      ),
  );

  const streamTypes = streams.map(({ streamType }) => streamType);
  const loaded = projections.flatMap(({ snapshots }) => snapshots?.streamType ?? []);
  it.each([...new Set([...streamTypes, ...Object.keys(RECORD_KINDS)])])(
    '%s has a row in test/record-kinds.ts, with a `loading` column if a projection holds whole records',
    (streamType) => {
      expectEntries(
        'the rows of test/record-kinds.ts',
        streamType in RECORD_KINDS ? [streamType] : [],
        streamTypes.filter((one) => one === streamType),
      );
      const { loading } = RECORD_KINDS[streamType]!;
      expect(loading?.decider.streamType).toBe(loaded.includes(streamType) ? streamType : undefined);
    },
  );

  it('exactly the operations with `asOf` are in a `past` column of test/record-kinds.ts', () => {
    const shown = Object.values(RECORD_KINDS).flatMap(({ past }) => past?.shownBy ?? []);
    const withPast = names.filter(
      (name) => fieldsOf(operationNamed(name)).has('asOf') && !OTHER_LISTS_OF_THE_PAST.includes(name),
    );
    expectEntries('the columns `past.shownBy` of test/record-kinds.ts', shown, withPast);
  });
});

describe('scopes', () => {
  hasOrganization(beforeAll);

  /** The operations of a server's document. */
  async function served(): Promise<[operation: string, documented: any][]> {
    const { paths } = (await client.request('GET', '/openapi.json')).body;
    return Object.entries<object>(paths)
      .filter(([path]) => path.startsWith('/v1/'))
      .map(([path, methods]) => [path.slice('/v1/'.length), Object.values(methods)[0]]);
  }

  it('the documentation states the scopes of every operation and field as in the table', async () => {
    const found = (await served()).map(([name, documented]) => {
      const { 'x-required-scope': always, 'x-scopes-of-fields': fields, description } = documented;
      for (const scope of [always, ...Object.values(fields)]) expect(description).toContain(`\`${scope}\``);
      return [name, { always, with: fields }];
    });
    const expected = ROWS.map(([name, { scope: always, fields = {} }]) => {
      const needed = Object.entries(fields).filter(([, scope]) => scope !== null);
      return [name, { always, with: Object.fromEntries(needed) }];
    });
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
    const scopes = ROWS.flatMap(([, { scope, fields = {} }]) => [scope, ...Object.values(fields)]);
    expect(SCOPES).toEqual(expect.arrayContaining(scopes.filter((scope) => scope !== null)));
  });

  it('the table has every field that refers to another service', async () => {
    const services = new Set(Object.keys(OPERATIONS).map((name) => name.split('.')[0]!));
    /** Field names that differ from the name of their service. */
    const NAMES: { [service: string]: string } = { 'api-key': 'apiKey', history: 'event' };
    const objects = [...services, 'signature'].map((name) => NAMES[name] ?? name);
    objects.splice(objects.indexOf('organization'), 1);
    const foreign = new RegExp(`^((${objects.join('|')})(s|Id|Ids)?|publicLog|audience)$`);
    for (const [name, documented] of await served()) {
      const [service] = name.split('.');
      // `form` and `fields` say what a page asks for.
      const OWN: { [service: string]: RegExp } = {
        petition: /^(petition|signature|form$)/,
        form: /^(form|fields$)/,
      };
      const own = OWN[service!] ?? new RegExp(`^${NAMES[service!] ?? service}`);
      // They show contacts, although their names do not say so.
      const HIDDEN = [
        'petition.list-signatures q',
        'contact.get-contact include',
        'contact.update-contacts matching',
        'segment.preview-segment segmentId',
        'segment.preview-segment filter',
        'webhook.create-webhook expand',
        'webhook.update-webhook expand',
      ];
      // The note of a count is a text, not a record.
      const isText = (field: string) => `${name} ${field}` === 'petition.record-offline-signatures note';
      const isHidden = (field: string) => HIDDEN.includes(`${name} ${field}`);
      // addListIds is about listIds.
      const plain = (field: string) =>
        field.replace(/^(add|remove)([A-Z])/, (_, __, first: string) => first.toLowerCase());
      const isForeign = (field: string) =>
        (foreign.test(plain(field)) && !own.test(field) && !isText(field)) || isHidden(field);
      const body = documented.requestBody?.content['application/json']?.schema.properties ?? {};
      const query = documented.parameters.filter((parameter: any) => parameter.in === 'query');
      const fields = [...Object.keys(body), ...query.map((parameter: any) => parameter.name)];
      expectEntries(
        `the column \`fields\` of '${name}' in test/operations.ts`,
        [...new Set(Object.keys(OPERATIONS[name]?.fields ?? {}).map((field) => field.split('=')[0]!))],
        fields.filter(isForeign),
      );
    }
  });

  /** The smallest request with the field. The records that it names do not exist. */
  async function askWith(scopes: string[], operation: string, field: string): Promise<Answer> {
    const values: Fields = {
      contact: { email: 'ada@example.org' },
      contactIds: [uuid()],
      contacts: true,
      matching: { q: 'nobody' },
      ...Object.fromEntries(
        groupsOfContacts().flatMap(({ kind, assignedBy }) => {
          const [field, value] = assignedBy === 'name' ? [`${kind}s`, 'Donor'] : [`${kind}Ids`, uuid()];
          const ending = `${field[0]!.toUpperCase()}${field.slice(1)}`;
          return [field, `add${ending}`, `remove${ending}`].map((name) => [name, [value]]);
        }),
      ),
      tagIds: [uuid()],
      publicLog: true,
      audience: { contactIds: [uuid()] },
    };
    const [service] = operation.split('.');
    const needsName =
      service === 'organization' || /\.create-(broadcast|form|petition|post)$/.test(operation);
    const record = needsName ? { name: 'x' } : field === 'filter' ? {} : { [`${service}Id`]: uuid() };
    const isImport = /\.(import-contacts|create-import|import-signatures)$/.test(operation);
    const body = isImport ? csv('email', 'ada@example.org') : {};
    const records: { [operation: string]: Fields } = {
      'contact.create-contact': own.person(),
      'contact.update-contact': { contactId: uuid() },
      'contact.update-contacts': field === 'matching' ? {} : { contactIds: [uuid()] },
      'contact.get-contact': { contactId: uuid() },
      ...Object.fromEntries(groupsOfContacts().map(({ kind }) => [`${kind}.list-${kind}s`, {}])),
      'import.create-import': {},
      'note.create-note': { text: 'Called' },
      'note.list-notes': {},
      'note.update-note': { noteId: uuid(), text: 'Called' },
      'post.list-posts': {},
      'webhook.create-webhook': { url: 'https://example.org/hook' },
    };
    const [name, word] = field.split('=') as [string, string?];
    const fields = {
      ...(records[operation] ?? (service === 'contact' ? {} : record)),
      ...body,
      // A body has a list of words; a query separates them with commas.
      [name]: (name === 'expand' ? word!.split(',') : word) ?? values[name] ?? uuid(),
    };
    return own.send(operation, fields, { by: await own.caller({ scopes }) });
  }

  const conditional = ROWS.flatMap(([operation, { scope, fields = {} }]) =>
    Object.entries(fields).map(([field, more]) => ({ operation, scope, field, more })),
  );
  it('every word of a list requires its own scope, not only the first', async () => {
    const words = conditional.filter(({ field }) => field.includes('='));
    expect(words.length).toBeGreaterThan(3);
    for (const { operation, scope, field, more } of words) {
      const [name, word] = field.split('=');
      const others = words.filter((one) => one.operation === operation && one.more !== more);
      for (const { field: other, more: has } of others) {
        const both = `${name}=${other.split('=')[1]},${word}`;
        const { status, body } = await askWith([scope, has!], operation, both);
        expect([operation, both, status, body.error?.reason]).toEqual([
          operation,
          both,
          403,
          'SCOPE_MISSING',
        ]);
      }
    }
  });

  it.each(conditional)('$operation with $field requires $more', async ({ operation, scope, field, more }) => {
    const eventTypes = async () =>
      (await api.eventTypes(client.organizationId)).filter((type) => type !== 'ApiKeyCreated');
    const before = await eventTypes();
    for (const scopes of [[scope], SCOPES.filter((each) => each !== '*' && each !== more)]) {
      const { status, body } = await askWith(scopes, operation, field);
      const refusal = [body.error?.code, body.error?.reason];
      if (more === null) {
        expect([status, body.error?.code]).toEqual([404, 'NOT_FOUND']);
      } else {
        expect([status, ...refusal]).toEqual([403, 'INSUFFICIENT_PERMISSIONS', 'SCOPE_MISSING']);
        expect(body.error.message).toContain(`lacks the scope ${more}, which \`${field}\` needs`);
      }
    }
    if (more === null) return;
    // Nothing was recorded, and a key with both scopes is accepted.
    expect(await eventTypes()).toEqual(before);
    expect((await askWith([scope, more], operation, field)).status).not.toBe(403);
  });
});

describe('reasons', () => {
  hasOrganization(beforeEach);

  it.each(
    ROWS.flatMap(([operation, { reasons = {} }]) =>
      Object.entries(reasons).map(([reason, provoke]) => [operation, reason as OwnReason, provoke] as const),
    ),
  )('%s › %s', async (_, reason, provoke) => {
    const { status, body } = await provoke(own);
    const code = (['CONFLICT', 'NOT_FOUND', 'INSUFFICIENT_PERMISSIONS'] as const).find((one) =>
      reasonsOf(one).includes(reason),
    )!;
    expect([status, body.error.code, body.error.reason]).toEqual([ERROR_STATUS[code], code, reason]);
  });

  it('an undocumented response fails the test that receives it', () => {
    const fails =
      (status: number, reason?: string, operation = 'contact.create-contact') =>
      () =>
        requireDocumented('POST', `/v1/${operation}`, {
          status,
          body: { error: { code: '', reason } },
        });
    expect(fails(409, 'EMAIL_TAKEN')).not.toThrow();
    expect(fails(409, 'PETITION_CLOSED')).toThrow('does not document');
    expect(fails(404, undefined, 'tag.create-tag')).toThrow('does not document');
  });

  it('a command that loses every race for its record fails with RECORD_BUSY', async () => {
    const { organizationId } = client;
    const commands = api.instances[0]!.app.get(Commands);
    const input = systemInput(CreateOrganization, organizationId, { name: 'Late' }, 'test');
    const late = { streamType: 'organization', streamId: organizationId, expectedVersion: 99 };
    const events = [{ type: 'OrganizationUpdated', data: { name: 'Late' } }];
    const busy = commands.run(input, () => ({ recordId: organizationId, writes: [{ ...late, events }] }));
    await expect(busy).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      details: { reason: 'RECORD_BUSY' },
    });
  });
});

describe('the list of reasons', () => {
  const declared = Object.keys(DOCUMENTED).flatMap((name) =>
    [...new Set(Object.values(ERROR_STATUS))].flatMap(
      (status) => documentedReasons(definitionOf(name).method, `/v1/${name}`, status) ?? [],
    ),
  );
  const root = join(__dirname, '..');
  const files = ['src', 'libs', 'test']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, String(file))),
    )
    .filter((file) => file.endsWith('.ts'));
  const textOf = (chosen: readonly string[]) =>
    chosen.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
  const tests = textOf(files.filter((file) => file.endsWith('.spec.ts') || file === 'test/operations.ts'));
  const sources = textOf(
    files.filter(
      (file) => !file.startsWith('test') && !/spec\.ts$|rpc.error-codes\.ts$|reasons\.ts$/.test(file),
    ),
  );

  it.each(ERROR_CODES.flatMap(reasonsOf))(
    '%s is declared by an operation, used in the source, and expected by a test',
    (reason) => {
      expect(declared).toContain(reason);
      expect([sources.includes(`'${reason}'`), new RegExp(`\\b${reason}\\b`).test(tests)]).toEqual([
        true,
        true,
      ]);
    },
  );
});

describe('every operation', () => {
  hasOrganization(beforeAll);

  let addresses = 0;
  const stranger = (headers: Record<string, string>): Promise<Answer> => {
    addresses += 1;
    const nobody = new Client(api.origin, '', undefined);
    return nobody.get('post.list-posts', {}, { 'X-Forwarded-For': `10.9.0.${addresses}`, ...headers });
  };
  const bearer = (key: string) => stranger({ Authorization: `Bearer ${key}` });

  it.each<[string, string, () => Promise<Answer>]>([
    ['KEY_MISSING', 'without a key', () => stranger({})],
    ['KEY_MALFORMED', 'with another scheme', () => stranger({ Authorization: 'Basic eHg6eHg=' })],
    ['KEY_INVALID', 'with a malformed key', () => bearer('adv_1')],
    ['KEY_INVALID', 'with an unknown key', () => bearer(`adv_aaaaaaaa_${'b'.repeat(40)}`)],
    [
      'KEY_INVALID',
      'with a revoked key',
      async () => {
        const { id, key } = await api.createKey(client.organizationId);
        await api.revokeKey(client.organizationId, id);
        return bearer(key);
      },
    ],
    [
      'KEY_EXPIRED',
      'with an expired key',
      async () => {
        const expiresAt = '2020-01-01T00:00:00.000Z';
        return bearer((await api.createKey(client.organizationId, { expiresAt })).key);
      },
    ],
  ])('returns 401 %s %s', async (reason, _, ask) => {
    const { status, body } = await ask();
    expect([status, body.error.code, body.error.reason]).toEqual([401, 'UNAUTHORIZED', reason]);
  });

  it('returns 403 SCOPE_MISSING with a key that has another scope', async () => {
    const { status, body } = await (await own.caller({ scopes: ['contact:read'] })).get('post.list-posts');
    expect([status, body.error.reason]).toEqual([403, 'SCOPE_MISSING']);
    expect(body.error.message).toContain('post:read');
  });

  it('returns 429 KEY_RATE for one key, ADDRESS_RATE without a valid key, and ORGANIZATION_RATE if only the key’s own rate is high', async () => {
    const refusedOf = async (ask: () => Promise<Answer>) => {
      // On a slow machine, 30 requests can take seconds.
      for (let rounds = 0; rounds < 20; rounds += 1) {
        const answers = await Promise.all(Array.from({ length: 30 }, ask));
        const refused = answers.find(({ status }) => status === 429);
        if (refused) return refused.body.error.reason as string;
      }
      throw new Error('No request was rejected.');
    };
    const slow = await own.caller({ rateLimit: 1 });
    expect(await refusedOf(() => slow.get('post.list-posts'))).toBe('KEY_RATE');
    const address = { 'X-Forwarded-For': '10.9.1.1' };
    expect(await refusedOf(() => stranger(address))).toBe('ADDRESS_RATE');
    const { origin } = await api.addInstance({ ORGANIZATION_RATE_LIMIT: '5' });
    // Keys created by the operator do not count for the organization.
    const made = await client.post('api-key.create-api-key', { name: 'Made', rateLimit: 1_000 });
    const many = new Client(origin, client.organizationId, made.body.data.key);
    expect(await refusedOf(() => many.get('post.list-posts'))).toBe('ORGANIZATION_RATE');
  });

  it('returns 503 DATABASE_UNREACHABLE while the database is unreachable', async () => {
    gate = await DatabaseGate.before(api.database.url);
    const { origin } = await api.addInstance({ DATABASE_URL: gate.url });
    const there = client.at(origin);
    expect((await there.get('post.list-posts')).status).toBe(200);
    gate.shut();
    const { status, body } = await there.get('post.list-posts');
    gate.open();
    expect([status, body.error.reason]).toEqual([503, 'DATABASE_UNREACHABLE']);
  });

  it('returns no error of the server for ids that are not UUIDs', async () => {
    const failed: unknown[] = [];
    for (const [name, { ask }] of ROWS) {
      const ids = [...fieldsOf(operationNamed(name))].filter(
        ([field]) => /Ids?$/.test(field) && field !== 'organizationId',
      );
      const fields = ids.length > 0 ? await ask(own) : {};
      for (const [field, { schema }] of ids) {
        const wrong = schema.type === 'array' ? ['x'] : 'x';
        const { status } = await own.send(name, { ...fields, [field]: wrong });
        if (status >= 500) failed.push([name, field, status]);
      }
    }
    expect(failed).toEqual([]);
  });
});

describe('the documented errors', () => {
  hasOrganization(beforeAll);

  let [posts, tags, limited]: Client[] = [];
  let unreachable: { gate: DatabaseGate; origin: string };
  beforeAll(async () => {
    posts = await own.caller({ scopes: ['post:read'] });
    tags = await own.caller({ scopes: ['tag:read'] });
    limited = await own.caller({ rateLimit: 1 });
    const gate = await DatabaseGate.before(api.database.url);
    const { origin } = await api.addInstance({ DATABASE_URL: gate.url });
    gate.shut();
    unreachable = { gate, origin };
  });
  afterAll(() => unreachable.gate.stop());

  it('ROLE_EXCEEDS_YOURS is documented where roles are assigned or removed', async () => {
    const { paths } = (await client.request('GET', '/openapi.json')).body;
    const declared = Object.entries<Record<string, any>>(paths).filter(([, methods]) =>
      Object.values(methods).some(({ responses }) =>
        JSON.stringify(responses['403'] ?? '').includes('ROLE_EXCEEDS_YOURS'),
      ),
    );
    expect(declared.map(([path]) => path).toSorted()).toEqual(
      ['invite-member', 'remove-member', 'revoke-invitation', 'update-member'].map(
        (name) => `/v1/team.${name}`,
      ),
    );
  });

  type Documented = { method: string; path: string; bodyType: string | undefined; input: object };

  /** Every operation, with valid input and ids of nonexistent records. */
  function requests(): Documented[] {
    const { paths } = JSON.parse(readFileSync(join(__dirname, 'openapi.json'), 'utf8'));
    return Object.entries<any>(paths)
      .filter(([path]) => path.startsWith('/v1/'))
      .flatMap(([path, methods]) =>
        Object.entries<any>(methods).map(([method, { parameters = [], requestBody }]) => {
          const [bodyType] = Object.keys(requestBody?.content ?? {});
          const body = requestBody?.content['application/json']?.schema;
          const fields = body
            ? Object.entries<any>(body.properties).map(
                ([name, schema]) => [name, schema, body.required.includes(name)] as const,
              )
            : parameters
                .filter((parameter: any) => parameter.in === 'query')
                .map(({ name, schema, required }: any) => [name, schema, required] as const);
          return { method: method.toUpperCase(), path, bodyType, input: inputOf(fields, path) };
        }),
      );
  }

  /** One operation of each service, method and type of body, which decide about the shared checks of a request. */
  function oneOfEachForm(): Documented[] {
    const formOf = ({ method, path, bodyType }: Documented) =>
      [method, path.split('.')[0], bodyType].join(' ');
    return [...new Map(requests().map((one) => [formOf(one), one])).values()];
  }

  function inputOf(fields: readonly (readonly [string, any, boolean])[], path: string): object {
    return Object.fromEntries(
      fields.flatMap(([name, schema, required]) => {
        // Ids of other systems name no record.
        if (/^externalIds?$/.test(name)) return [];
        const names = [name, ...Object.keys(schema.properties ?? {})].filter((one) => one !== 'externalIds');
        // Sent instead of `contactIds`.
        if (name === 'segmentId' && path.endsWith('.update-contacts')) return [];
        // These lists do not combine other fields with it.
        if (name === 'asOf' && path.includes('.list-')) return [];
        const isNamed =
          names.some((one) => (one === name ? /Ids?$/ : /Ids$/).test(one)) ||
          ['asOf', 'fromPosition'].includes(name);
        return required || isNamed ? [[name, valueOf(name, schema, path)]] : [];
      }),
    );
  }

  function valueOf(name: string, schema: any, path: string): unknown {
    const { type, format, minimum, items, properties } = schema;
    if (name === 'organizationId') return client.organizationId;
    if (name === 'asOf') return '2000-01-01T00:00:00Z';
    if (name === 'url') return 'https://example.org/';
    if (format === 'date') return '2000-01-01';
    if (name === 'filter') return { tag: NIL };
    // Each operation uses a different email address, so that it does not find records of another one.
    if (format === 'idn-email') return `${path.split('.')[1]}@example.org`;
    if (type === 'array') return [valueOf('', items, path)];
    if (properties) {
      const fields = Object.entries<any>(properties);
      return inputOf(
        fields.map(([one, its]) => [one, its, schema.required?.includes(one) === true]),
        path,
      );
    }
    if (schema.enum) return schema.enum[0];
    return [type].flat().includes('integer') ? minimum : NIL;
  }

  type Asked = {
    by?: Client;
    headers?: Record<string, string>;
    more?: object;
    padding?: string;
    method?: string;
  };

  function ask(
    { path, bodyType, ...operation }: Documented,
    { by = client, headers = {}, more = {}, padding = '', method = operation.method }: Asked = {},
  ): Promise<Answer> {
    const input = { ...operation.input, ...more };
    const isJson = bodyType === 'application/json';
    const query = isJson ? '' : `?${new URLSearchParams(input as Record<string, string>).toString()}`;
    const body = bodyType && (isJson ? JSON.stringify(input) : 'email\n') + padding;
    return by.request(method, path + query, body, {
      ...(body ? { 'Content-Type': bodyType } : {}),
      ...headers,
    });
  }

  let networks = 0;
  /** From a network of its own, because requests without a valid key are limited per network. */
  function askWithoutKey(operation: Documented): Promise<Answer> {
    networks += 1;
    const headers = { 'X-Forwarded-For': `10.8.${networks}.1` };
    return ask(operation, { by: new Client(api.origin, '', undefined), headers });
  }

  /** Repeats the key of another request, with the ids of records that exist, because some operations look for them first. */
  async function askWithUsedKey(operation: Documented): Promise<Answer> {
    if (!operation.bodyType) return ask(operation);
    const name = operation.path.slice('/v1/'.length);
    const send = async () =>
      own.send(name, await OPERATIONS[name]!.ask(own), { headers: { 'Idempotency-Key': 'used' } });
    // Anyone can have a publishable key, so its requests do not share the keys of the organization's own programs.
    if (['petition.request-signature', 'form.submit-form'].includes(name)) await send();
    return send();
  }

  /** Sends a request of a key with one request per second until one is rejected, because each may take a second. */
  async function askTooOften(operation: Documented): Promise<Answer> {
    const by = limited!;
    for (let tries = 0; ; tries += 1) {
      const answers = await Promise.all([ask(operation, { by }), ask(operation, { by })]);
      const rejected = answers.find(({ status }) => status === 429);
      if (rejected || tries === 20) return rejected ?? answers[0];
    }
  }

  it.each<[number, (operation: Documented) => Promise<Answer>]>([
    [400, (operation) => ask(operation, { more: { unknownField: '1' } })],
    [401, askWithoutKey],
    [403, (operation) => ask(operation, { by: operation.path.startsWith('/v1/tag.') ? posts! : tags! })],
    [404, (operation) => ask(operation)],
    [405, (operation) => ask(operation, { method: 'PUT' })],
    [
      413,
      (operation) =>
        ask(operation, {
          padding: ' '.repeat((operation.bodyType?.startsWith('image/') ? 16 : 1) * 1024 * 1024),
        }),
    ],
    [
      415,
      (operation) => ask(operation, operation.bodyType ? { headers: { 'Content-Type': 'text/plain' } } : {}),
    ],
    [422, askWithUsedKey],
    [429, askTooOften],
    [503, (operation) => ask(operation, { by: client.at(unreachable.origin) })],
  ])('%i is returned by exactly the operations that document it', async (status, asking) => {
    const asked = isLong || status === 404 ? requests() : oneOfEachForm();
    await client.post('list.create-list', { name: 'x' }, { 'Idempotency-Key': 'used' });
    const answers = new Map<string, number>();
    for (const operation of asked) answers.set(operation.path, (await asking(operation)).status);
    const documented = asked.filter(
      ({ method, path }) => documentedReasons(method, path, status) !== undefined,
    );
    expect(documented.length).toBeGreaterThan(10);
    const answering = [...answers].filter(([, answered]) => answered === status).map(([path]) => path);
    const paths = documented.map(({ path }) => path);
    // Missing responses usually mean that `valueOf` fills in a request wrongly, so that it returns 400.
    const wrong = paths.flatMap((path) =>
      answering.includes(path) ? [] : [`${path} returns ${answers.get(path)}`],
    );
    expect(wrong).toEqual([]);
    expect(answering).toEqual(paths);
  });
});

describe('the organization id', () => {
  hasOrganization(beforeAll);

  /** Statements that read data of organizations without an organization id, and why they may. */
  const EXCEPTIONS: { [reason: string]: RegExp } = {
    'a key is looked up to find its organization': /FROM api_keys_v\d+\.api_keys k .* WHERE public_id = \$1$/,
    'sealing reads the events of all organizations':
      /^SELECT position, organization_id FROM events WHERE position > \$1|^SELECT organization_id FROM signed_notes WHERE look_at/,
    'each signed checkpoint becomes a leaf of the log of all organizations':
      /^SELECT organization_id, note FROM signed_notes WHERE .* NOT logged|^SELECT coalesce\(max\(position\), 0\) AS position FROM checkpoint_leaves$/,
    'the register contains the last checkpoint of every organization':
      /^WITH page AS \( SELECT position, organization_id, size, root FROM checkpoint_leaves WHERE position > \$1/,
    'a background worker of every instance records the reads of all organizations, an hour after them or when the hour ends':
      /^WITH one AS \( SELECT organization_id, api_key_id, hour FROM history_reads WHERE hour < clock_timestamp\(\)/,
    'a projection skips the new events of all organizations if it handles none of their types':
      /^SELECT DISTINCT type FROM events WHERE position > \$1 AND position <= \$2$/,
    'background workers poll for work of any organization': /^WITH h AS MATERIALIZED \(SELECT event_horizon/,
    'a projection is purged of all erased data':
      /^SELECT FROM checkpoints c JOIN events e ON e\.position > c\.clean_position/,
  };

  /**
   * Calls every operation like clients do: plain, filtered, searched, in the past, and repeated. All repeated
   * commands send the same statements, so `npm test` repeats one per service.
   */
  async function askEverything(): Promise<void> {
    // Reads come last, so that they find records.
    const rows = [...ROWS.filter(([name]) => !isRead(name)), ...ROWS.filter(([name]) => isRead(name))];
    const repeated = new Set<string>();
    for (const [name, { ask, asks = {}, otherAsks = [] }] of rows) {
      for (const one of [...Object.values(asks), ...otherAsks]) await own.ask(name, await one(own));
      for (const fields of withMore(name, await ask(own))) await own.ask(name, fields);
      const [service = ''] = name.split('.');
      if (isRead(name) || (!isLong && repeated.has(service))) continue;
      repeated.add(service);
      const [fields, headers] = [await ask(own), { 'Idempotency-Key': uuid() }];
      for (const isReplayed of [false, true]) {
        const answer = await own.send(name, fields, { headers });
        const header = answer.headers.get('idempotent-replayed');
        expect([name, answer.status, header]).toEqual([name, 200, isReplayed ? 'true' : null]);
      }
    }
    const { organizationId } = client;
    for (const path of ['checkpoint', 'tile/0/000.p/1', 'tile/entries/000.p/1']) {
      expect((await client.request('GET', `/log/${organizationId}/${path}`)).status).toBe(200);
    }
    for (const path of ['checkpoint', 'tile/0/000.p/1']) {
      expect((await client.request('GET', `/log/all/${path}`)).status).toBe(200);
    }
    // The log was published above.
    expect((await fetch(`${api.origin}/log/${organizationId}/checkpoint`)).status).toBe(200);
  }

  /** The fields, and for reads also the fields with each of the common parameters, or with those that combine. */
  function withMore(name: string, fields: Fields): Fields[] {
    if (!isRead(name) || 'asOf' in fields) return [fields];
    const known = fieldsOf(operationNamed(name));
    const isKnown = ([field, value]: [string, string]) => {
      const schema = known.get(field)?.schema;
      return schema !== undefined && (schema.enum?.includes(value) ?? true);
    };
    const together = { limit: '1', createdAfter: '2020-01-01T00:00:00Z', sort: 'updatedAt' };
    const more = [
      // Lists do not combine it with other fields: see `otherAsks`.
      ...(operationOf(operationNamed(name))!.list ? [] : [{ asOf: new Date().toISOString() }]),
      { q: 'ada' },
      // One letter is searched differently.
      ...(isLong
        ? [{ q: 'a' }, ...Object.entries(together).map((one) => Object.fromEntries([one]))]
        : [{ q: 'a', ...together }]),
    ].map((one) => Object.fromEntries(Object.entries<string>(one).filter(isKnown)));
    return [
      fields,
      ...more.filter((one) => Object.keys(one).length > 0).map((one) => ({ ...fields, ...one })),
    ];
  }

  /** The parts of a statement with their own tables: the contents of each pair of brackets without nested ones. */
  function partsOf(statement: string): string[] {
    const parts = [''];
    const open = [0];
    // Compared and joined rows begin with the organization.
    for (const character of statement.replace(/\((\w+\.)?organization_id, /g, 'organization_id = (')) {
      if (character === '(') open.push(parts.push('') - 1);
      else if (character === ')') open.pop();
      else parts[open.at(-1)!] += character;
    }
    return parts.flatMap((part) => part.split(/\bUNION\b/));
  }

  it('is in every statement of a request that reads data of organizations', async () => {
    const owned: { name: string }[] = await api.database.source.query(
      `SELECT DISTINCT table_name AS name FROM information_schema.columns
       WHERE column_name = 'organization_id' AND table_schema <> 'information_schema'`,
    );
    expect(owned.length).toBeGreaterThan(15);
    const tables = owned.map(({ name }) => name).join('|');
    const LOOKS = new RegExp(`\\b(FROM|JOIN|USING|UPDATE)\\s+(\\w+\\.)?(${tables})\\b`);
    const NAMES = /\borganization_id (=|IN)|= \w+\.organization_id\b/;

    const statements = new Set<string>();
    // oxlint-disable-next-line typescript/unbound-method -- called with its own connection
    const { query } = Connection.prototype;
    Connection.prototype.query = function (this: Connection, ...args: any[]) {
      const text: string = args[0].text ?? args[0];
      statements.add(text.replace(/\s+/g, ' ').trim());
      return (query as (...all: any[]) => unknown).apply(this, args);
    } as typeof query;
    await askEverything().finally(() => (Connection.prototype.query = query));

    const looking = [...statements].filter((statement) => LOOKS.test(statement));
    expect(looking.length).toBeGreaterThan(60);
    const nameless = looking.filter((statement) =>
      partsOf(statement).some((part) => LOOKS.test(part) && !NAMES.test(part)),
    );
    const isExcepted = (statement: string) => Object.values(EXCEPTIONS).some((one) => one.test(statement));
    expect(nameless.filter((statement) => !isExcepted(statement))).toEqual([]);
  });
});
