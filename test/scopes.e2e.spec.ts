import { createHash, randomBytes } from 'node:crypto';
import { Client as Connection } from 'pg';
import { v7 as uuid } from 'uuid';
import { Projections } from '#libs/projections';
import { allScopes } from '#libs/rpc';
import { type Answer, Api, Client } from './harness.js';
import { acceptInvitation } from './people-in.js';
import { picture } from './pictures.js';
import { verifyTwice } from './verifiers.js';

const SCOPES = allScopes();
let api: Api;
let owner: Client;
beforeAll(async () => {
  api = await Api.start();
});
afterAll(() => api.stop());
beforeEach(async () => {
  owner = await api.organization();
});

/**
 * Every operation with the scope that it needs, and its fields that name records of another service: with the scope
 * that these need besides, or null where the operation's own is enough. An id alone tells nothing that its owner
 * has not: it cannot be guessed.
 */
const TABLE: { [operation: string]: [scope: string, fields?: { [field: string]: string | null }] } = {
  'contact.create-contact': ['contact:write'],
  'contact.get-contact': ['contact:read'],
  'contact.list-contacts': [
    'contact:read',
    { listId: 'list:read', petitionId: 'petition:read', tagId: 'tag:read' },
  ],
  'contact.update-contact': ['contact:write'],
  'contact.delete-contact': ['contact:write'],
  'contact.import-contacts': ['contact:write', { listId: 'list:write' }],
  'contact.export-contacts': [
    'contact:read',
    { listId: 'list:read', petitionId: 'petition:read', tagId: 'tag:read' },
  ],
  'petition.create-petition': ['petition:write', { imageId: null }],
  'petition.get-petition': ['petition:read'],
  'petition.get-stats': ['petition:read'],
  'petition.list-petitions': ['petition:read'],
  'petition.update-petition': ['petition:write', { imageId: null }],
  'petition.publish-petition': ['petition:write'],
  'petition.close-petition': ['petition:write'],
  'petition.delete-petition': ['petition:write'],
  'petition.add-signature': ['petition:write', { contactId: null, contact: 'contact:write' }],
  'petition.remove-signature': ['petition:write', { contactId: null }],
  'petition.list-signatures': ['petition:read', { q: 'contact:read' }],
  'petition.export-signatures': ['petition:read', { contacts: 'contact:read' }],
  'petition.invalidate-signatures': ['petition:write'],
  'petition.restore-signatures': ['petition:write'],
  'petition.get-invalidation': ['petition:read'],
  'petition.list-invalidations': ['petition:read'],
  'post.create-post': ['post:write', { imageId: null }],
  'post.get-post': ['post:read'],
  'post.list-posts': ['post:read'],
  'post.update-post': ['post:write', { imageId: null }],
  'post.publish-post': ['post:write'],
  'post.archive-post': ['post:write'],
  'post.delete-post': ['post:write'],
  'list.create-list': ['list:write'],
  'list.get-list': ['list:read'],
  'list.list-lists': ['list:read'],
  'list.update-list': ['list:write'],
  'list.delete-list': ['list:write'],
  'list.add-contacts': ['list:write', { contactIds: null }],
  'list.remove-contacts': ['list:write', { contactIds: null }],
  'organization.get-organization': ['organization:read'],
  'organization.update-organization': ['organization:write', { publicLog: 'event:read', imageId: null }],
  'api-key.create-api-key': ['api-key:write'],
  'api-key.list-api-keys': ['api-key:read'],
  'api-key.rotate-api-key': ['api-key:write'],
  'api-key.revoke-api-key': ['api-key:write'],
  'event.list-events': ['event:read'],
  'event.get-event': ['event:read'],
  'event.export-events': ['event:read'],
  'event.get-proof': ['event:read'],
  'event.get-checkpoint': ['event:read'],
  'tag.create-tag': ['tag:write'],
  'tag.get-tag': ['tag:read'],
  'tag.list-tags': ['tag:read'],
  'tag.update-tag': ['tag:write'],
  'tag.delete-tag': ['tag:write'],
  'tag.add-contacts': ['tag:write', { contactIds: null }],
  'tag.remove-contacts': ['tag:write', { contactIds: null }],
  'webhook.create-webhook': ['webhook:write'],
  'webhook.get-webhook': ['webhook:read'],
  'webhook.list-webhooks': ['webhook:read'],
  'webhook.update-webhook': ['webhook:write'],
  'webhook.pause-webhook': ['webhook:write'],
  'webhook.resume-webhook': ['webhook:write'],
  'webhook.rotate-secret': ['webhook:write'],
  'webhook.test-webhook': ['webhook:write'],
  'webhook.list-deliveries': ['webhook:read'],
  'webhook.redeliver': ['webhook:write', { eventId: null }],
  'webhook.replay-webhook': ['webhook:write'],
  'webhook.delete-webhook': ['webhook:write'],
  'webhook.list-event-types': ['webhook:read'],
  'suppression.create-suppression': ['suppression:write'],
  'suppression.list-suppressions': ['suppression:read'],
  'suppression.delete-suppression': ['suppression:write'],
  'broadcast.create-broadcast': ['broadcast:write', { audience: 'contact:read' }],
  'broadcast.get-broadcast': ['broadcast:read'],
  'broadcast.list-broadcasts': ['broadcast:read'],
  'broadcast.update-broadcast': ['broadcast:write', { audience: 'contact:read' }],
  'broadcast.delete-broadcast': ['broadcast:write'],
  'broadcast.preview-audience': ['broadcast:read'],
  'broadcast.preview-broadcast': ['broadcast:read', { contactId: 'contact:read' }],
  'broadcast.send-test': ['broadcast:send'],
  'broadcast.send-broadcast': ['broadcast:send'],
  'broadcast.pause-broadcast': ['broadcast:write'],
  'broadcast.resume-broadcast': ['broadcast:send'],
  'broadcast.cancel-broadcast': ['broadcast:write'],
  'broadcast.list-recipients': ['broadcast:read'],
  'broadcast.retry-recipients': ['broadcast:send'],
  'image.upload-image': ['image:write'],
  'image.get-image': ['image:read'],
  'image.list-images': ['image:read'],
  'image.update-image': ['image:write'],
  'image.delete-image': ['image:write'],
  'team.invite-member': ['team:write'],
  'team.list-members': ['team:read'],
  'team.update-member': ['team:write'],
  'team.remove-member': ['team:write'],
  'team.list-invitations': ['team:read'],
  'team.revoke-invitation': ['team:write'],
};

/** The operations as the documentation has them. */
async function documented(): Promise<{ [operation: string]: any }> {
  const { paths } = (await owner.request('GET', '/openapi.json')).body;
  return Object.fromEntries(
    Object.entries<object>(paths)
      .filter(([path]) => path.startsWith('/v1/'))
      .map(([path, methods]) => [path.slice('/v1/'.length), Object.values(methods)[0]]),
  );
}

function fieldsOf(operation: any): string[] {
  const body = operation.requestBody?.content['application/json']?.schema.properties ?? {};
  const query = operation.parameters.filter((parameter: any) => parameter.in === 'query');
  return [...Object.keys(body), ...query.map(({ name }: any) => name)];
}

it('the documentation says of every operation, and of every field that needs more, what the table says', async () => {
  const found = Object.entries(await documented()).map(([name, { 'x-scopes': scopes, description }]) => {
    for (const scope of [scopes.always, ...Object.values(scopes.with)])
      expect(description).toContain(`\`${scope}\``);
    return [name, scopes];
  });
  const expected = Object.entries(TABLE).map(([name, [always, fields = {}]]) => {
    const needed = Object.entries(fields).filter(([, scope]) => scope !== null);
    return [name, { always, with: Object.fromEntries(needed) }];
  });
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
  const scopes = Object.values(TABLE).flatMap(([scope, fields = {}]) => [scope, ...Object.values(fields)]);
  expect(SCOPES).toEqual(expect.arrayContaining(scopes.filter((scope) => scope !== null)));
});

it('the table names every field that speaks of another service', async () => {
  const services = new Set(Object.keys(TABLE).map((name) => name.split('.')[0]!));
  const objects = [...services, 'signature'].map((name) => name.replace('api-key', 'apiKey'));
  objects.splice(objects.indexOf('organization'), 1);
  const foreign = new RegExp(`^((${objects.join('|')})(s|Id|Ids)?|publicLog|audience)$`);
  for (const [name, operation] of Object.entries(await documented())) {
    const [service] = name.split('.');
    const own =
      service === 'petition'
        ? /^(petition|signature)/
        : new RegExp(`^${service === 'api-key' ? 'apiKey' : service}`);
    // It says so by no name of theirs: whose signatures are found is what contacts are called.
    const isHidden = (field: string) => `${name} ${field}` === 'petition.list-signatures q';
    const isForeign = (field: string) => (foreign.test(field) && !own.test(field)) || isHidden(field);
    const fields = fieldsOf(operation).filter(isForeign);
    expect([name, fields.sort()]).toEqual([name, Object.keys(TABLE[name]![1] ?? {}).sort()]);
  }
});

/** Operations that are asked by GET. */
const READS = /\.(get|list|export|preview)-/;

describe('a field that reaches into another service', () => {
  const conditional = Object.entries(TABLE).flatMap(([operation, [scope, fields = {}]]) =>
    Object.entries(fields).map(([field, more]) => ({ operation, scope, field, more })),
  );

  const ask = async (scopes: string[], operation: string, field: string): Promise<Answer> => {
    const { key } = await api.createKey(owner.organizationId, { scopes });
    const client = new Client(api.origin, owner.organizationId, key);
    const values: Record<string, unknown> = {
      contact: { email: 'ada@example.org' },
      contactIds: [uuid()],
      contacts: true,
      publicLog: true,
      audience: { contactIds: [uuid()] },
    };
    const value = values[field] ?? uuid();
    if (operation === 'contact.import-contacts') {
      const type = { 'Content-Type': 'text/csv' };
      return client.request(
        'POST',
        `/v1/${operation}?${field}=${value as string}`,
        'email\nada@example.org\n',
        type,
      );
    }
    const service = operation.split('.')[0]!;
    const isNew = service === 'organization' || /\.create-(broadcast|petition|post)$/.test(operation);
    const own = isNew ? { name: 'x' } : { [`${service}Id`]: uuid() };
    if (READS.test(operation) && service !== 'contact')
      return client.get(operation, { ...(own as Record<string, string>), [field]: value as string });
    if (operation.startsWith('contact.')) return client.get(operation, { [field]: value as string });
    const send = operation.includes('remove') ? 'delete' : 'post';
    return client[send](operation, { ...own, [field]: value });
  };

  it.each(conditional)('$operation with $field: $more', async ({ operation, scope, field, more }) => {
    const before = await api.eventTypes(owner.organizationId);
    for (const scopes of [[scope], SCOPES.filter((each) => each !== '*' && each !== more)]) {
      const { status, body } = await ask(scopes, operation, field);
      const refusal = [body.error?.code, body.error?.reason];
      if (more === null) {
        expect([status, body.error?.code]).toEqual([404, 'NOT_FOUND']);
      } else {
        expect([status, ...refusal]).toEqual([403, 'INSUFFICIENT_PERMISSIONS', 'SCOPE_MISSING']);
        expect(body.error.message).toContain(`lacks the scope ${more}, which \`${field}\` needs`);
      }
    }
    if (more === null) return;
    // Nothing happened, and with both scopes it is not refused.
    expect((await api.eventTypes(owner.organizationId)).filter((type) => type !== 'ApiKeyCreated')).toEqual(
      before.filter((type) => type !== 'ApiKeyCreated'),
    );
    expect((await ask([scope, more], operation, field)).status).not.toBe(403);
  });
});

describe('the secret of a key', () => {
  /** A key as it is written today, or with its hash in the personal part of its own stream. */
  async function storeKey(isPersonal: boolean) {
    const [publicId, secret] = [randomBytes(4).toString('hex'), randomBytes(20).toString('hex')];
    const secretHash = createHash('sha256').update(secret).digest('hex');
    const details = { name: 'Stored', publicId, scopes: ['*'], rateLimit: 'unlimited', expiresAt: null };
    const event = isPersonal
      ? { type: 'ApiKeyCreated', data: details, personal: { secretHash } }
      : { type: 'ApiKeyCreated', data: { ...details, secretHash } };
    const { app, runtime } = api.instances[0]!;
    const streamId = uuid();
    const write = {
      ...{ streamType: 'api-key', streamId, expectedVersion: 0, events: [event] },
      ...(isPersonal ? { subjectId: streamId } : {}),
    };
    const metadata = { actor: { type: 'system' as const, id: 'test' }, requestId: 'test' };
    await runtime.store.append({ organizationId: owner.organizationId, metadata, writes: [write] });
    await app.get(Projections).catchUpWithLog();
    return {
      id: streamId,
      client: new Client(api.origin, owner.organizationId, `adv_${publicId}_${secret}`),
      secretHash,
    };
  }

  it.each([
    ['in the data of its event', false],
    ['in the personal part of its event', true],
  ])('whose hash lies %s is told by no event, and the proofs hold', async (_, isPersonal) => {
    const { id, client, secretHash } = await storeKey(isPersonal);
    expect((await client.get('contact.list-contacts')).status).toBe(200);
    const { body: keys } = await client.get('api-key.list-api-keys');
    expect(keys.data.map(({ name }: any) => name)).toContain('Stored');

    const { body } = await owner.get('event.list-events', { recordId: id });
    const [event] = body.data;
    const one = await owner.get('event.get-event', { eventId: event.id });
    for (const shown of [event, one.body.data]) {
      expect(shown).toMatchObject({ type: 'ApiKeyCreated', data: { name: 'Stored' } });
      expect(JSON.stringify(shown)).not.toMatch(new RegExp(`secretHash|${secretHash}`));
    }
    const proof = await owner.get('event.get-proof', { eventId: event.id });
    const exported = (await owner.get('event.export-events')).body;
    expect(exported.includes(secretHash)).toBe(!isPersonal);
    const { verifierKey } = api.instances[0]!.runtime.signers;
    expect(await verifyTwice(exported, proof.body.data.checkpoint, verifierKey)).toMatchObject({ ok: true });

    const { body: rotated } = await client.post('api-key.rotate-api-key', {
      apiKeyId: id,
      overlapSeconds: 60,
    });
    expect(rotated.data.key).toMatch(/^adv_/);
  });
});

describe('the organization', () => {
  /** Statements that look at what organizations own without naming one, and why they may. */
  const EXCEPTIONS: { [reason: string]: RegExp } = {
    'who asks is not known yet: the key says which organization it belongs to':
      /FROM api_keys_v\d+\.api_keys k .* WHERE public_id = \$1$/,
    'sealing goes through the events of all organizations':
      /^SELECT position, organization_id FROM events WHERE position > \$1|^SELECT organization_id FROM signed_notes WHERE look_at/,
    'what was signed of any becomes a leaf of the log of all':
      /^SELECT organization_id, note FROM signed_notes WHERE .* NOT logged|^SELECT coalesce\(max\(position\), 0\) AS position FROM checkpoint_leaves$/,
    'a read model is purged of all that is erased':
      /^SELECT FROM checkpoints c JOIN events e ON e\.position > c\.clean_position/,
  };

  /** What the operations are asked, all of them, as clients do: alone, filtered, searched, in the past, again. */
  async function round(): Promise<Set<string>> {
    const { organizationId } = owner;
    const asked = new Set<string>();
    const ask = async (operation: string, fields: object = {}, headers = {}): Promise<any> => {
      asked.add(operation);
      const isRead = READS.test(operation);
      const isDeletion = /\.(delete|remove|revoke)-/.test(operation);
      const answer = isRead
        ? await owner.get(operation, fields as Record<string, string>)
        : await owner[isDeletion ? 'delete' : 'post'](operation, fields, headers);
      expect([operation, answer.status]).toEqual([operation, 200]);
      return answer.body.data;
    };
    const again = { 'Idempotency-Key': uuid() };
    const everywhere = [
      {},
      { limit: '1' },
      { q: 'ada' },
      { q: 'a' },
      { createdAfter: '2020-01-01T00:00:00Z' },
      { sort: 'updatedAt' },
    ];

    const ada = { organizationId, email: 'ada@example.org', firstName: 'Ada' };
    const { contactId } = await ask('contact.create-contact', ada);
    await ask('contact.create-contact', ada);
    const { contactId: graceId } = await ask(
      'contact.create-contact',
      { ...ada, email: 'grace@example.org' },
      again,
    );
    await ask('contact.create-contact', { ...ada, email: 'grace@example.org' }, again);
    await ask('contact.create-contact', { ...ada, city: 'Paris', onConflict: 'update' });
    await ask('contact.update-contact', { contactId, city: 'Lyon' });
    asked.add('contact.import-contacts');
    for (const query of ['', '?onConflict=update']) {
      const csv = { 'Content-Type': 'text/csv' };
      const body = 'email,zip,tags\nada@example.org,69001,Donor\nwangari@example.org,1,\n';
      expect((await owner.request('POST', `/v1/contact.import-contacts${query}`, body, csv)).status).toBe(
        200,
      );
    }
    asked.add('image.upload-image');
    const png = { 'Content-Type': 'image/png' };
    const uploaded = await owner.request('POST', '/v1/image.upload-image', await picture(), png);
    const { imageId } = uploaded.body.data;
    await ask('image.update-image', { imageId, alt: 'Nothing' });
    const { listId } = await ask('list.create-list', { name: 'Volunteers' });
    await ask('list.update-list', { listId, description: 'All' });
    await ask('list.add-contacts', { listId, contactIds: [contactId, graceId] });
    await ask('list.remove-contacts', { listId, contactIds: [graceId] });
    const { tagId } = await ask('tag.create-tag', { name: 'Volunteer' });
    await ask('tag.update-tag', { tagId, description: 'All' });
    await ask('tag.add-contacts', { tagId, contactIds: [contactId, graceId] });
    await ask('tag.remove-contacts', { tagId, contactIds: [graceId] });
    const { webhookId } = await ask('webhook.create-webhook', { url: 'https://webhooks.invalid/' });
    await ask('webhook.update-webhook', { webhookId, eventTypes: ['ContactCreated'] });
    await ask('webhook.pause-webhook', { webhookId });
    await ask('webhook.resume-webhook', { webhookId });
    await ask('webhook.rotate-secret', { webhookId, overlapSeconds: 60 });
    await ask('webhook.test-webhook', { webhookId });
    await ask('webhook.replay-webhook', { webhookId, from: '2020-01-01T00:00:00Z' });
    await ask('webhook.list-deliveries', { webhookId });
    await ask('webhook.list-event-types');
    const { petitionId } = await ask('petition.create-petition', { name: 'River' });
    await ask('petition.update-petition', { petitionId, goal: 7, imageId });
    await ask('petition.publish-petition', { petitionId });
    await ask('petition.add-signature', { petitionId, contactId });
    await ask('petition.add-signature', { petitionId, contact: { email: 'chico@example.org' } });
    await ask('petition.remove-signature', { petitionId, contactId });
    const { signatureId } = await ask('petition.add-signature', {
      petitionId,
      contactId,
      comment: 'Again',
    });
    const { invalidationId } = await ask('petition.invalidate-signatures', {
      petitionId,
      signatureIds: [signatureId],
    });
    await ask('petition.restore-signatures', { invalidationId });
    for (const dryRun of [true, false])
      await ask('petition.invalidate-signatures', {
        petitionId,
        createdAfter: '2020-01-01T00:00:00Z',
        createdBefore: '2099-01-01T00:00:00Z',
        emailDomain: 'nowhere.invalid',
        dryRun,
      });
    const { postId } = await ask('post.create-post', { name: 'News', content: { blocks: [] } });
    await ask('post.update-post', { postId, title: 'Newer' });
    await ask('post.publish-post', { postId });
    await ask('organization.update-organization', { website: 'https://example.org' });
    await ask('organization.update-organization', {
      mailFrom: { name: 'Rivers', address: 'news@example.org' },
      postalAddress: '1 Quay',
    });
    const { broadcastId } = await ask('broadcast.create-broadcast', {
      name: 'May',
      content: 'Hello',
      audience: {
        listIds: [listId],
        petitionIds: [petitionId],
        excludeListIds: [listId],
        contactIds: [contactId],
      },
    });
    const toList = { audience: { petitionIds: [petitionId], filter: { city: 'Lyon' } } };
    await ask('broadcast.update-broadcast', { broadcastId, ...toList });
    await ask('broadcast.update-broadcast', { broadcastId, audience: { contactIds: [contactId] } });
    await ask('broadcast.preview-audience', { broadcastId });
    for (const who of [{}, { contactId }]) await ask('broadcast.preview-broadcast', { broadcastId, ...who });
    await ask('broadcast.send-test', { broadcastId, to: ['me@example.org'] });
    await ask('broadcast.send-broadcast', { broadcastId, sendAt: '2099-01-01T00:00:00Z' });
    await ask('broadcast.send-broadcast', { broadcastId });
    await ask('broadcast.pause-broadcast', { broadcastId });
    await ask('broadcast.resume-broadcast', { broadcastId });
    for (const filter of [{}, { status: 'PENDING' }])
      await ask('broadcast.list-recipients', { broadcastId, ...filter });
    await ask('broadcast.retry-recipients', { broadcastId, status: 'FAILED' });
    const { apiKeyId } = await ask('api-key.create-api-key', { name: 'Website' });
    const { apiKeyId: successor } = await ask('api-key.rotate-api-key', { apiKeyId, overlapSeconds: 60 });

    for (const email of ['ada@example.org', 'nobody@example.org']) {
      await ask('suppression.create-suppression', { email });
      await ask('suppression.create-suppression', { email, reason: 'BOUNCED' });
    }
    for (const filter of [{}, { email: 'ada@example.org' }, { reason: 'MANUAL', sort: 'createdAt' }])
      await ask('suppression.list-suppressions', filter);
    await ask('suppression.delete-suppression', { email: 'nobody@example.org' });

    const { invitationId } = await ask('team.invite-member', { email: 'eve@example.org', role: 'VIEWER' });
    await acceptInvitation(api, owner, invitationId);
    await ask('team.update-member', { memberId: invitationId, role: 'EDITOR' });
    await ask('team.list-members');
    await ask('team.remove-member', { memberId: invitationId });
    const invited = await ask('team.invite-member', { email: 'ada@example.org', role: 'VIEWER' });
    await ask('team.list-invitations');
    await ask('team.revoke-invitation', { invitationId: invited.invitationId });

    const asOf = new Date().toISOString();
    for (const past of [{}, { asOf }]) {
      await ask('contact.get-contact', { contactId, organizationId, ...past });
      await ask('petition.get-petition', { petitionId, ...past });
      await ask('petition.get-stats', { petitionId, ...past });
      await ask('petition.get-invalidation', { invalidationId, ...past });
      await ask('post.get-post', { postId, ...past });
      await ask('list.get-list', { listId, ...past });
      await ask('tag.get-tag', { tagId, ...past });
      await ask('image.get-image', { imageId, ...past });
      await ask('webhook.get-webhook', { webhookId, ...past });
      await ask('broadcast.get-broadcast', { broadcastId, ...past });
      await ask('organization.get-organization', past);
    }
    const people = [
      { email: 'ada@example.org' },
      { city: 'Lyon', subscribed: 'true' },
      { listId },
      { petitionId },
      { tagId },
      { sort: 'email' },
    ];
    for (const filter of [...everywhere, ...people]) {
      await ask('contact.list-contacts', filter);
      const { limit, sort, ...exported } = filter as Record<string, string>;
      await ask('contact.export-contacts', exported);
    }
    for (const filter of everywhere) {
      for (const operation of [
        'petition.list-petitions',
        'post.list-posts',
        'list.list-lists',
        'tag.list-tags',
        'webhook.list-webhooks',
        'broadcast.list-broadcasts',
        'image.list-images',
        'api-key.list-api-keys',
      ])
        await ask(operation, filter);
    }
    await ask('petition.list-petitions', { status: 'PUBLISHED', include: 'content' });
    await ask('post.list-posts', { status: 'PUBLISHED', include: 'content' });
    for (const filter of [{}, { status: 'INVALIDATED' }, { q: 'ada' }, { q: 'a' }])
      await ask('petition.list-signatures', { petitionId, ...filter });
    const times = { createdAfter: '2020-01-01T00:00:00Z', updatedBefore: '2099-01-01T00:00:00Z' };
    for (const filter of [{}, { petitionId }, { sort: 'updatedAt', limit: '1' }, times])
      await ask('petition.list-invalidations', filter);
    for (const filter of [{}, { contacts: 'true', format: 'csv', safe: 'true' }])
      await ask('petition.export-signatures', { petitionId, ...filter });

    const [event] = await ask('event.list-events', { recordId: contactId });
    for (const filter of [{}, { recordType: 'contact', type: 'ContactUpdated' }, { actorId: event.actor.id }])
      await ask('event.list-events', filter);
    await ask('event.list-events', { requestId: event.requestId, occurredAfter: '2020-01-01T00:00:00Z' });
    await ask('event.get-event', { eventId: event.id });
    await ask('webhook.redeliver', { webhookId, eventId: event.id });
    await ask('event.export-events');
    await ask('event.get-checkpoint');
    for (const path of ['checkpoint', 'tile/0/000.p/1', 'tile/entries/000.p/1']) {
      expect((await owner.request('GET', `/log/${organizationId}/${path}`)).status).toBe(200);
    }
    for (const path of ['checkpoint', 'tile/0/000.p/1']) {
      expect((await owner.request('GET', `/log/all/${path}`)).status).toBe(200);
    }
    await ask('organization.update-organization', { publicLog: true });
    expect((await fetch(`${api.origin}/log/${organizationId}/checkpoint`)).status).toBe(200);
    await ask('event.get-proof', { eventId: event.id });

    await ask('broadcast.cancel-broadcast', { broadcastId });
    await ask('broadcast.delete-broadcast', { broadcastId });
    await ask('api-key.revoke-api-key', { apiKeyId: successor });
    await ask('contact.delete-contact', { contactId });
    await ask('contact.delete-contact', { contactId });
    await ask('petition.close-petition', { petitionId });
    await ask('petition.delete-petition', { petitionId });
    await ask('post.archive-post', { postId });
    await ask('post.delete-post', { postId });
    await ask('list.delete-list', { listId });
    await ask('tag.delete-tag', { tagId });
    await ask('image.delete-image', { imageId, detach: true });
    await ask('webhook.delete-webhook', { webhookId });
    return asked;
  }

  /** The parts of a statement that have their own tables: what stands in each pair of brackets, without that within. */
  function partsOf(statement: string): string[] {
    const parts = [''];
    const open = [0];
    // A row that is compared, or joined by, begins with the organization.
    for (const character of statement.replace(/\((\w+\.)?organization_id, /g, 'organization_id = (')) {
      if (character === '(') open.push(parts.push('') - 1);
      else if (character === ')') open.pop();
      else parts[open.at(-1)!] += character;
    }
    return parts.flatMap((part) => part.split(/\bUNION\b/));
  }

  it('is named by every statement that serves a request, wherever it looks at what organizations own', async () => {
    const owned: { name: string }[] = await api.database.source.query(
      `SELECT DISTINCT table_name AS name FROM information_schema.columns
       WHERE column_name = 'organization_id' AND table_schema <> 'information_schema'`,
    );
    expect(owned.length).toBeGreaterThan(15);
    const tables = owned.map(({ name }) => name).join('|');
    const LOOKS = new RegExp(`\\b(FROM|JOIN|USING|UPDATE)\\s+(\\w+\\.)?(${tables})\\b`);
    const NAMES = /\borganization_id (=|IN)|= \w+\.organization_id\b/;

    const statements = new Set<string>();
    // eslint-disable-next-line @typescript-eslint/unbound-method -- called with the connection that it belongs to
    const { query } = Connection.prototype;
    Connection.prototype.query = function (this: Connection, ...args: any[]) {
      const text: string = args[0].text ?? args[0];
      statements.add(text.replace(/\s+/g, ' ').trim());
      return (query as (...all: any[]) => unknown).apply(this, args);
    } as typeof query;
    const asked = await round().finally(() => (Connection.prototype.query = query));
    expect([...asked].sort()).toEqual(Object.keys(TABLE).sort());

    const looking = [...statements].filter((statement) => LOOKS.test(statement));
    expect(looking.length).toBeGreaterThan(60);
    const nameless = looking.filter((statement) =>
      partsOf(statement).some((part) => LOOKS.test(part) && !NAMES.test(part)),
    );
    const isExcepted = (statement: string) => Object.values(EXCEPTIONS).some((one) => one.test(statement));
    expect(nameless.filter((statement) => !isExcepted(statement))).toEqual([]);
  });
});
