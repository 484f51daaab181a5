import { newId } from '#libs/random';
import { CommandBus } from '@nestjs/cqrs';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NIL } from 'uuid';
import { Commands } from '#libs/commands';
import { type ErrorCode, ERROR_REASONS, ERROR_STATUS, systemInput } from '#libs/rpc';
import { type CreateApiKey } from '../src/auth/index.js';
import { FinishBroadcast } from '../src/broadcasts/index.js';
import { documentedReasons, requireDocumented } from './documented.js';
import { type Answer, Api, Client, DatabaseGate } from './harness.js';
import { acceptInvitation } from './people-in.js';
import { picture } from './pictures.js';
import { CreateOrganization } from '../src/organizations/index.js';

let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start({ environment: { TRUST_PROXY: 'true' } });
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

/** Reasons that an operation has only where it declares them. */
const OWN = [...Object.keys(ERROR_REASONS.CONFLICT), 'KEY_EXCEEDS_YOURS'];

async function idOf(answer: Promise<Answer>): Promise<string> {
  const { status, body } = await answer;
  expect(status).toBe(200);
  return Object.values<string>(body.data)[0]!;
}

function createContact(email: string, more: object = {}): Promise<Answer> {
  return client.post('contact.create-contact', { organizationId: client.organizationId, email, ...more });
}

function createPetition(): Promise<string> {
  return idOf(client.post('petition.create-petition', { name: 'Save the river' }));
}

async function publishedPetition(): Promise<string> {
  const petitionId = await createPetition();
  expect((await client.post('petition.publish-petition', { petitionId })).status).toBe(200);
  return petitionId;
}

function sign(petitionId: string): Promise<Answer> {
  return client.post('petition.add-signature', { petitionId, contact: { email: 'ada@example.org' } });
}

function createKey(name: string): Promise<string> {
  return idOf(client.post('api-key.create-api-key', { name }));
}

/** By the hand of whoever can write to every table. */
function change(statement: string): Promise<unknown> {
  return api.database.source.query(`${statement} WHERE organization_id = $1`, [client.organizationId]);
}

/** As many as an organization may have, with that of the test's client. */
async function createAllKeys(): Promise<string> {
  const made = await Promise.all(
    Array.from({ length: 100 }, () => api.createKey(client.organizationId, { rateLimit: 1 })),
  );
  return made[0]!.id;
}

async function callerWith(options: Partial<CreateApiKey>): Promise<Client> {
  const { key } = await api.createKey(client.organizationId, options);
  return new Client(api.origin, client.organizationId, key);
}

function createBroadcast(fields: object = {}): Promise<string> {
  return idOf(client.post('broadcast.create-broadcast', { name: 'May', content: 'Hello', ...fields }));
}

async function newMember(role: string): Promise<string> {
  const invitationId = await idOf(client.post('team.invite-member', { email: 'member@example.org', role }));
  await acceptInvitation(api, client, invitationId);
  return invitationId;
}

/** On its way; nothing leaves here, because no reactions are at work. */
async function startedBroadcast(): Promise<string> {
  const contactId = await idOf(createContact('ada@example.org'));
  const mailFrom = { name: 'Rivers', address: 'office@rivers.example' };
  await client.post('organization.update-organization', { mailFrom, postalAddress: '1 Quay' });
  const broadcastId = await createBroadcast({ audience: { contactIds: [contactId] } });
  expect((await client.post('broadcast.send-broadcast', { broadcastId })).status).toBe(200);
  return broadcastId;
}

/** How each operation comes to each of the reasons that it declares. */
/** The second one of two that are to be found by the same slug. */
async function takenSlug(kind: 'petition' | 'post'): Promise<Answer> {
  const create = `${kind}.create-${kind}`;
  await client.post(create, { name: 'First', slug: 'taken' });
  return client.post(create, { name: 'Second', slug: 'taken' });
}

const PROVOKED: { [operation: string]: { [reason: string]: () => Promise<Answer> } } = {
  'webhook.create-webhook': {
    WEBHOOK_LIMIT_REACHED: async () => {
      const create = (n: number) =>
        client.post('webhook.create-webhook', { url: `https://example.org/${n}` });
      for (let n = 0; n < 50; n += 1) await idOf(create(n));
      return create(50);
    },
  },
  'image.delete-image': {
    IMAGE_SHOWN: async () => {
      const type = { 'Content-Type': 'image/png' };
      const imageId = await idOf(client.request('POST', '/v1/image.upload-image', await picture(), type));
      await idOf(client.post('post.create-post', { name: 'Shown', imageId }));
      return client.delete('image.delete-image', { imageId });
    },
  },
  'broadcast.update-broadcast': {
    BROADCAST_BEGUN: async () =>
      client.post('broadcast.update-broadcast', { broadcastId: await startedBroadcast(), content: 'Bye' }),
  },
  'broadcast.delete-broadcast': {
    BROADCAST_BEGUN: async () =>
      client.delete('broadcast.delete-broadcast', { broadcastId: await startedBroadcast() }),
  },
  'broadcast.preview-broadcast': {
    BROADCAST_NOT_READY: async () =>
      client.get('broadcast.preview-broadcast', {
        broadcastId: await createBroadcast({ content: '{% if %}' }),
      }),
  },
  'broadcast.send-test': {
    BROADCAST_NOT_READY: async () => {
      const broadcastId = await createBroadcast({ content: '{{ contact.nickname }}' });
      return client.post('broadcast.send-test', { broadcastId, to: ['ada@example.org'] });
    },
  },
  'broadcast.send-broadcast': {
    BROADCAST_BEGUN: async () => {
      const broadcastId = await startedBroadcast();
      await client.post('broadcast.pause-broadcast', { broadcastId });
      return client.post('broadcast.send-broadcast', { broadcastId });
    },
    BROADCAST_NOT_READY: async () =>
      client.post('broadcast.send-broadcast', { broadcastId: await createBroadcast() }),
  },
  'broadcast.pause-broadcast': {
    BROADCAST_NOT_SENDING: async () =>
      client.post('broadcast.pause-broadcast', { broadcastId: await createBroadcast() }),
  },
  'broadcast.resume-broadcast': {
    BROADCAST_NOT_SENDING: async () =>
      client.post('broadcast.resume-broadcast', { broadcastId: await createBroadcast() }),
  },
  'broadcast.cancel-broadcast': {
    BROADCAST_BEGUN: async () => {
      const broadcastId = await startedBroadcast();
      await api.database.source.query(`UPDATE broadcast_recipients SET status = 'SENT'`);
      const finish = systemInput(FinishBroadcast, client.organizationId, { broadcastId }, 'test');
      await api.instances[0]!.app.get(CommandBus).execute(finish);
      return client.post('broadcast.cancel-broadcast', { broadcastId });
    },
  },
  'broadcast.retry-recipients': {
    BROADCAST_NOT_SENDING: async () => {
      const broadcastId = await createBroadcast();
      return client.post('broadcast.retry-recipients', { broadcastId, status: 'FAILED' });
    },
  },
  'contact.create-contact': {
    EMAIL_TAKEN: async () => {
      await createContact('ada@example.org');
      return createContact('ADA@example.org', { firstName: 'Ada' });
    },
  },
  'contact.update-contact': {
    EMAIL_TAKEN: async () => {
      await createContact('ada@example.org');
      const contactId = await idOf(createContact('grace@example.org'));
      return client.post('contact.update-contact', { contactId, email: 'ada@example.org' });
    },
  },
  'event.get-checkpoint': {
    NOT_SEALED: async () => {
      await client.get('event.get-checkpoint');
      await change('UPDATE signed_notes SET note = upper(note)');
      return client.get('event.get-checkpoint');
    },
  },
  'event.get-proof': {
    NOT_SEALED: async () => {
      await client.get('event.get-checkpoint');
      await change('UPDATE seals SET root = sha256(root)');
      await createContact('ada@example.org');
      const { body } = await client.get('event.list-events', { type: 'ContactCreated' });
      return client.get('event.get-proof', { eventId: body.data[0].id });
    },
  },
  'organization.update-organization': {
    SLUG_TAKEN: async () => {
      const slug = `taken-${newId()}`;
      const other = await api.organization();
      await other.post('organization.update-organization', { slug });
      return client.post('organization.update-organization', { slug });
    },
  },
  'petition.create-petition': { SLUG_TAKEN: () => takenSlug('petition') },
  'petition.update-petition': {
    SLUG_TAKEN: async () => {
      await takenSlug('petition');
      return client.post('petition.update-petition', { petitionId: await createPetition(), slug: 'taken' });
    },
  },
  'petition.publish-petition': {
    PETITION_CLOSED: async () => {
      const fields = { name: 'Over', closesAt: '2020-01-01T00:00:00Z' };
      const petitionId = await idOf(client.post('petition.create-petition', fields));
      return client.post('petition.publish-petition', { petitionId });
    },
  },
  'post.create-post': { SLUG_TAKEN: () => takenSlug('post') },
  'post.update-post': {
    SLUG_TAKEN: async () => {
      await takenSlug('post');
      const postId = await idOf(client.post('post.create-post', { name: 'Other' }));
      return client.post('post.update-post', { postId, slug: 'taken' });
    },
  },
  'petition.close-petition': {
    PETITION_NOT_PUBLISHED: async () =>
      client.post('petition.close-petition', { petitionId: await createPetition() }),
  },
  'petition.delete-petition': {
    PETITION_PUBLISHED: async () =>
      client.delete('petition.delete-petition', { petitionId: await publishedPetition() }),
  },
  'petition.add-signature': {
    PETITION_NOT_PUBLISHED: async () => sign(await createPetition()),
    PETITION_CLOSED: async () => {
      const petitionId = await publishedPetition();
      await client.post('petition.close-petition', { petitionId });
      return sign(petitionId);
    },
  },
  'post.archive-post': {
    POST_NOT_PUBLISHED: async () =>
      client.post('post.archive-post', {
        postId: await idOf(client.post('post.create-post', { name: 'x' })),
      }),
  },
  'team.invite-member': {
    ROLE_EXCEEDS_YOURS: async () =>
      (await callerWith({ scopes: ['team:write'] })).post('team.invite-member', {
        email: 'ada@example.org',
        role: 'OWNER',
      }),
    ALREADY_MEMBER: async () => {
      await newMember('VIEWER');
      return client.post('team.invite-member', { email: 'member@example.org', role: 'VIEWER' });
    },
  },
  'team.update-member': {
    ROLE_EXCEEDS_YOURS: async () => {
      const memberId = await newMember('OWNER');
      const caller = await callerWith({ scopes: ['team:write'] });
      return caller.post('team.update-member', { memberId, role: 'VIEWER' });
    },
    LAST_OWNER: async () =>
      client.post('team.update-member', { memberId: await newMember('OWNER'), role: 'VIEWER' }),
  },
  'team.remove-member': {
    ROLE_EXCEEDS_YOURS: async () => {
      const memberId = await newMember('OWNER');
      return (await callerWith({ scopes: ['team:write'] })).delete('team.remove-member', { memberId });
    },
    LAST_OWNER: async () => client.delete('team.remove-member', { memberId: await newMember('OWNER') }),
  },
  'team.revoke-invitation': {
    ROLE_EXCEEDS_YOURS: async () => {
      const invitation = { email: 'ada@example.org', role: 'OWNER' };
      const invitationId = await idOf(client.post('team.invite-member', invitation));
      const caller = await callerWith({ scopes: ['team:write'] });
      return caller.delete('team.revoke-invitation', { invitationId });
    },
    INVITATION_ACCEPTED: async () =>
      client.delete('team.revoke-invitation', { invitationId: await newMember('VIEWER') }),
  },
  'api-key.create-api-key': {
    KEY_EXCEEDS_YOURS: async () => {
      const caller = await callerWith({ scopes: ['api-key:write'] });
      return caller.post('api-key.create-api-key', { name: 'More', scopes: ['contact:read'] });
    },
    KEY_LIMIT_REACHED: async () => {
      await createAllKeys();
      return client.post('api-key.create-api-key', { name: 'One more' });
    },
  },
  'api-key.rotate-api-key': {
    KEY_EXCEEDS_YOURS: async () => {
      const caller = await callerWith({ scopes: ['api-key:write'] });
      return caller.post('api-key.rotate-api-key', { apiKeyId: await createKey('Website') });
    },
    KEY_ENDED: async () => {
      const apiKeyId = await createKey('Website');
      await client.delete('api-key.revoke-api-key', { apiKeyId });
      return client.post('api-key.rotate-api-key', { apiKeyId });
    },
    KEY_ROTATED: async () => {
      const apiKeyId = await createKey('Website');
      await client.post('api-key.rotate-api-key', { apiKeyId, overlapSeconds: 60 });
      return client.post('api-key.rotate-api-key', { apiKeyId, overlapSeconds: 30 });
    },
    // Beside its successor the old key is one more.
    KEY_LIMIT_REACHED: async () =>
      client.post('api-key.rotate-api-key', { apiKeyId: await createAllKeys(), overlapSeconds: 60 }),
  },
  'api-key.revoke-api-key': {
    KEY_EXCEEDS_YOURS: async () => {
      const caller = await callerWith({ scopes: ['api-key:write'] });
      return caller.delete('api-key.revoke-api-key', { apiKeyId: await createKey('Website') });
    },
  },
};

/** Operation and reason, of all that are documented. */
function documented(): [string, string][] {
  const { paths } = JSON.parse(readFileSync(join(__dirname, 'openapi.json'), 'utf8'));
  return Object.entries<object>(paths)
    .filter(([path]) => path.startsWith('/v1/'))
    .flatMap(([path, methods]) =>
      Object.keys(methods).flatMap((method) =>
        [...new Set(Object.values(ERROR_STATUS))]
          .flatMap((status) => documentedReasons(method, path, status) ?? [])
          .map((reason): [string, string] => [path.slice('/v1/'.length), reason]),
      ),
    );
}

it.each(documented().filter(([, reason]) => OWN.includes(reason)))('%s › %s', async (operation, reason) => {
  const provoke = PROVOKED[operation]?.[reason];
  if (!provoke) throw new Error(`${operation} declares ${reason}: show here how it comes to that.`);
  const { status, body } = await provoke();
  const code: ErrorCode = reason in ERROR_REASONS.CONFLICT ? 'CONFLICT' : 'INSUFFICIENT_PERMISSIONS';
  expect([status, body.error.code, body.error.reason]).toEqual([ERROR_STATUS[code], code, reason]);
});

it('an answer that its operation does not declare fails the test that gets it', () => {
  const fails = (status: number, reason?: string) => () =>
    requireDocumented('POST', '/v1/contact.create-contact', {
      status,
      body: { error: { code: '', reason } },
    });
  expect(fails(409, 'EMAIL_TAKEN')).not.toThrow();
  expect(fails(409, 'PETITION_CLOSED')).toThrow('does not say');
  expect(fails(404)).toThrow('does not say');
});

describe('every operation', () => {
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
    ['KEY_INVALID', 'with what is no key', () => bearer('adv_1')],
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
  ])('401 %s %s', async (reason, _, ask) => {
    const { status, body } = await ask();
    expect([status, body.error.code, body.error.reason]).toEqual([401, 'UNAUTHORIZED', reason]);
  });

  it('403 SCOPE_MISSING with a key that may something else', async () => {
    const { status, body } = await (await callerWith({ scopes: ['contact:read'] })).get('post.list-posts');
    expect([status, body.error.reason]).toEqual([403, 'SCOPE_MISSING']);
    expect(body.error.message).toContain('post:read');
  });

  it('429 KEY_RATE with a key, ADDRESS_RATE without a good one, ORGANIZATION_RATE with keys enough', async () => {
    const refusedOf = async (ask: () => Promise<Answer>) => {
      // On a slow machine 30 requests can take seconds.
      for (let rounds = 0; rounds < 20; rounds += 1) {
        const answers = await Promise.all(Array.from({ length: 30 }, ask));
        const refused = answers.find(({ status }) => status === 429);
        if (refused) return refused.body.error.reason as string;
      }
      throw new Error('Nothing was refused.');
    };
    const slow = await callerWith({ rateLimit: 1 });
    expect(await refusedOf(() => slow.get('post.list-posts'))).toBe('KEY_RATE');
    const address = { 'X-Forwarded-For': '10.9.1.1' };
    expect(await refusedOf(() => stranger(address))).toBe('ADDRESS_RATE');
    const { origin } = await api.addInstance({ ORGANIZATION_RATE_LIMIT: '5' });
    // Those of the operator count alone.
    const made = await client.post('api-key.create-api-key', { name: 'Made', rateLimit: 1_000 });
    const many = new Client(origin, client.organizationId, made.body.data.key);
    expect(await refusedOf(() => many.get('post.list-posts'))).toBe('ORGANIZATION_RATE');
  });

  it('503 DATABASE_UNREACHABLE while the database is away', async () => {
    const gate = await DatabaseGate.before(api.database.url);
    const { origin } = await api.addInstance({ DATABASE_URL: gate.url });
    const there = client.at(origin);
    expect((await there.get('post.list-posts')).status).toBe(200);
    gate.shut();
    const { status, body } = await there.get('post.list-posts');
    gate.open();
    expect([status, body.error.reason]).toEqual([503, 'DATABASE_UNREACHABLE']);
  });
});

it('a command that others always get ahead of gives up with RECORD_BUSY', async () => {
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

describe('what is documented of an operation is what it answers', () => {
  type Documented = { method: string; path: string; bodyType: string | undefined; input: object };

  /** Every operation, with an input that is valid, and names only what there is not. */
  function operations(): Documented[] {
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

  function inputOf(fields: readonly (readonly [string, any, boolean])[], path: string): object {
    return Object.fromEntries(
      fields.flatMap(([name, schema, required]) => {
        const names = [name, ...Object.keys(schema.properties ?? {})];
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
    // Another for each operation: what one makes is not there for the next.
    if (format === 'email') return `${path.split('.')[1]}@example.org`;
    if (type === 'array') return [valueOf('', items, path)];
    if (properties) {
      const fields = Object.entries<any>(properties);
      return inputOf(
        fields.map(([one, its]) => [one, its, false]),
        path,
      );
    }
    if (schema.enum) return schema.enum[0];
    return [type].flat().includes('integer') ? minimum : NIL;
  }

  function ask({ method, path, bodyType, input }: Documented, headers = {}, padding = ''): Promise<Answer> {
    const isJson = bodyType === 'application/json';
    const query = isJson ? '' : `?${new URLSearchParams(input as Record<string, string>).toString()}`;
    const body = bodyType && (isJson ? JSON.stringify(input) : 'email\n') + padding;
    return client.request(method, path + query, body, {
      ...(body ? { 'Content-Type': bodyType } : {}),
      ...headers,
    });
  }

  it.each<[number, (operation: Documented) => Promise<Answer>]>([
    [404, (operation) => ask(operation)],
    [
      413,
      (operation) =>
        ask(operation, {}, ' '.repeat((operation.bodyType?.startsWith('image/') ? 16 : 1) * 1024 * 1024)),
    ],
    [415, (operation) => ask(operation, operation.bodyType ? { 'Content-Type': 'text/plain' } : {})],
    [422, (operation) => ask(operation, operation.bodyType ? { 'Idempotency-Key': 'used' } : {})],
  ])('%i, from exactly the operations that say so', async (status, asking) => {
    await client.post('list.create-list', { name: 'x' }, { 'Idempotency-Key': 'used' });
    const answers = new Map<string, number>();
    for (const operation of operations()) answers.set(operation.path, (await asking(operation)).status);
    const documented = operations().filter(
      ({ method, path }) => documentedReasons(method, path, status) !== undefined,
    );
    expect(documented.length).toBeGreaterThan(10);
    expect([...answers].filter(([, answered]) => answered === status).map(([path]) => path)).toEqual(
      documented.map(({ path }) => path),
    );
  });
});

describe('the list of reasons', () => {
  const root = join(__dirname, '..');
  const files = ['src', 'libs', 'test']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, String(file))),
    )
    .filter((file) => file.endsWith('.ts'));
  const textOf = (chosen: readonly string[]) =>
    chosen.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
  const tests = textOf(files.filter((file) => file.endsWith('.spec.ts')));
  const sources = textOf(
    files.filter((file) => !file.startsWith('test') && !/spec\.ts$|rpc.errors\.ts$/.test(file)),
  );

  it.each(Object.values(ERROR_REASONS).flatMap((reasons) => Object.keys(reasons)))(
    'has %s, which an operation declares, something answers, and a test expects',
    (reason) => {
      expect(documented().map(([, one]) => one)).toContain(reason);
      expect([sources.includes(`'${reason}'`), new RegExp(`\\b${reason}\\b`).test(tests)]).toEqual([
        true,
        true,
      ]);
    },
  );
});
