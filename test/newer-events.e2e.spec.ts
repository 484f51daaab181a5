import { CommandBus } from '@nestjs/cqrs';
import { v7 as uuidv7 } from 'uuid';
import {
  type Cast,
  DamagedEvent,
  type DomainEvent,
  EventStore,
  NewerEvent,
  type RecordedEvent,
  type Upcasters,
} from '#libs/event-store';
import { Signers } from '#libs/sealing';
import { projections, streams, subscriptions, upcasters } from '../src/modules.js';
import { tellSuccession } from '../src/history/index.js';
import { ConfirmSignature, invalidationPlanId, RequestSignature } from '../src/petitions/index.js';
import { Suppressions } from '../src/suppressions/index.js';
import { type Answer, Api, Client } from './harness.js';
import { picture } from './pictures.js';
import { eventually } from './processes.js';
import { appendSignatures } from './signers.js';
import { verifyTwice } from './verifiers.js';

/**
 * Events that a later version of this program wrote, by its own event store into the streams of every kind: of a type
 * that nobody here knows, and every type in a shape that nobody here knows.
 */
let api: Api;
let later: EventStore;
let other: Client;
beforeAll(async () => {
  api = await Api.start();
  api.react();
  const { source, store } = api.instances[0]!.runtime;
  const types = streams.flatMap(({ events }) => Object.keys(events));
  const same: Cast = (body) => body;
  const shapes = types.map((type) => {
    const known = upcasters[type]?.reads ?? [];
    return [type, { reads: [same, ...known], writes: 'newest' }] as const;
  });
  later = new EventStore(source, store.keyring, Object.fromEntries(shapes) satisfies Upcasters);
  other = await api.organization();
});
afterAll(() => api.stop());

type Kind = {
  /** A record of this kind, by the id of its stream. */
  make(client: Client): Promise<string>;
  /** How it is shown; `bySelf` where its own history is what is shown. */
  show(client: Client, id: string): Promise<Answer>;
  bySelf: boolean;
  /** What rests on it. */
  decide(client: Client, id: string): Promise<Answer>;
  /** An event of today that it may have after the newer one; none where it has no more. */
  next?: DomainEvent;
};

const idOf = async (answer: Promise<Answer>) => {
  const { status, body } = await answer;
  expect(status).toBe(200);
  return Object.values<string>(body.data)[0]!;
};
const emailOf = () => `${uuidv7()}@example.org`;
const makeContact = (client: Client) =>
  idOf(
    client.post('contact.create-contact', {
      organizationId: client.organizationId,
      email: emailOf(),
      bio: 'Ω',
    }),
  );
const makeList = (client: Client) => idOf(client.post('list.create-list', { name: uuidv7() }));
const makeWebhook = (client: Client) =>
  idOf(client.post('webhook.create-webhook', { url: `https://example.org/${uuidv7()}` }));
const makeImage = async (client: Client) =>
  idOf(client.request('POST', '/v1/image.upload-image', await picture(), { 'Content-Type': 'image/png' }));
const makeTag = (client: Client) => idOf(client.post('tag.create-tag', { name: uuidv7() }));
const makePetition = async (client: Client) => {
  const petitionId = await idOf(client.post('petition.create-petition', { name: uuidv7() }));
  await client.post('petition.publish-petition', { petitionId });
  return petitionId;
};

/** Of suppressions: their addresses, by their streams. */
const emails = new Map<string, string>();
/** That a message to the address bounced. */
const report = ({ organizationId }: Client, email: string) =>
  api.instances[0]!.app.get(Suppressions, { strict: false }).report(
    organizationId,
    { kind: 'bounce', email, messageId: `${uuidv7()}@example.org` },
    { organizationId, actor: { type: 'system', id: null }, scopes: ['*'], requestId: 'test' },
  );

/** Of links: which record and which contact they are between, by their stream. */
const links = new Map<string, { recordId: string; contactId: string }>();
const lastStream = async (client: Client, recordType: string) => {
  const { body } = await client.get('event.list-events', { recordType, limit: '1000' });
  return body.data.at(-1).recordId as string;
};

/** What somebody is refused who has no key, and no answer. */
async function refusalOf(work: Promise<unknown>): Promise<Answer> {
  const refused: unknown = await work.catch((error: unknown) => error);
  const reason = refused instanceof NewerEvent ? 'NEWER_VERSION' : 'HISTORY_DAMAGED';
  expect([NewerEvent, DamagedEvent]).toContain((refused as object).constructor);
  return { status: 503, body: { error: { reason } } } as Answer;
}

const kinds: { [streamType: string]: Kind } = {
  organization: {
    make: (client) => Promise.resolve(client.organizationId),
    show: (client) => client.get('organization.get-organization'),
    bySelf: true,
    decide: (client) => client.post('organization.update-organization', { website: 'https://example.org' }),
    next: { type: 'OrganizationUpdated', data: { country: 'KE' } },
  },
  contact: {
    make: makeContact,
    show: ({ organizationId, ...rest }, contactId) =>
      new Client(rest.origin, organizationId, rest.key).get('contact.get-contact', {
        organizationId,
        contactId,
      }),
    bySelf: true,
    decide: (client, contactId) => client.post('contact.update-contact', { contactId, city: 'Nairobi' }),
    next: { type: 'ContactUnsubscribed', data: {} },
  },
  sender: {
    async make(client) {
      await client.post('organization.update-organization', { language: 'de' });
      return lastStream(client, 'sender');
    },
    show: (client) => client.get('organization.get-organization'),
    bySelf: true,
    decide: (client) => client.post('organization.update-organization', { language: 'fr' }),
    next: { type: 'SenderUpdated', data: { language: 'es' } },
  },
  'public-log': {
    async make(client) {
      await client.post('organization.update-organization', { publicLog: true });
      return lastStream(client, 'public-log');
    },
    show: (client) => client.get('organization.get-organization'),
    bySelf: true,
    // The newer event may have taken it back.
    decide: (client) =>
      new Client(client.origin, '', undefined).request('GET', `/log/${client.organizationId}/checkpoint`),
    next: { type: 'LogUnpublished', data: {} },
  },
  'signature-request': {
    async make(client) {
      const petitionId = await makePetition(client);
      const context = {
        organizationId: client.organizationId,
        actor: { type: 'public', id: null },
        scopes: [],
        requestId: 'test',
      };
      const fields = {
        email: emailOf(),
        firstName: 'Ada',
        lastName: null,
        zip: null,
        country: null,
        comment: 'Ω',
      };
      const more = {
        source: null,
        suspicion: [],
        isCommentPublic: false,
        subscribe: false,
        clientAddress: null,
      };
      const command = Object.assign(new RequestSignature(), { petitionId, ...fields, ...more });
      const { organizationId } = client;
      const bus = api.instances[0]!.app.get(CommandBus);
      const answer = await bus.execute<RequestSignature, { requestId: string }>(
        Object.assign(command, { organizationId, context }),
      );
      return answer.requestId;
    },
    show: (client, id) => client.get('event.list-events', { recordId: id }),
    bySelf: false,
    async decide({ organizationId }, requestId) {
      const context = {
        organizationId,
        actor: { type: 'public', id: null },
        scopes: [],
        requestId: 'test',
      };
      const command = Object.assign(new ConfirmSignature(), { organizationId, requestId, context });
      return refusalOf(api.instances[0]!.app.get(CommandBus).execute(command));
    },
  },
  'signature-invalidation-plan': {
    async make(client) {
      const petitionId = await makePetition(client);
      const { runtime } = api.instances[0]!;
      await appendSignatures(runtime.store, client.organizationId, petitionId, 1, {
        suspicion: ['HONEYPOT'],
      });
      const invalidationId = await idOf(
        client.post('petition.invalidate-signatures', { petitionId, suspicion: 'HONEYPOT' }),
      );
      links.set(invalidationPlanId(invalidationId), { recordId: invalidationId, contactId: '' });
      return invalidationPlanId(invalidationId);
    },
    show: (client, id) =>
      client.get('petition.get-invalidation', { invalidationId: links.get(id)!.recordId }),
    bySelf: true,
    async decide({ organizationId }, id) {
      const { app } = api.instances[0]!;
      const reaction = app.get(
        subscriptions.find(({ name }) => name === 'PlannedInvalidations')!,
        {
          strict: false,
        },
      );
      const { recordId: invalidationId } = links.get(id)!;
      const event = {
        organizationId,
        eventId: uuidv7(),
        data: { invalidationId },
      } as unknown as RecordedEvent;
      return refusalOf(reaction.handle(event, new AbortController().signal));
    },
  },
  'petition-goal': {
    async make(client) {
      const petitionId = await makePetition(client);
      await client.post('petition.update-petition', { petitionId, goal: 1 });
      await client.post('petition.add-signature', { petitionId, contact: { email: emailOf() } });
      let id = '';
      await eventually(async () => (id = await lastStream(client, 'petition-goal')));
      links.set(id, { recordId: petitionId, contactId: '' });
      return id;
    },
    show: (client) => client.get('event.list-events', { recordType: 'petition-goal' }),
    bySelf: false,
    // What its reaction would be refused, which is all that rests on it.
    async decide(client, id) {
      const petitionId = links.get(id)!.recordId;
      await client.post('petition.add-signature', { petitionId, contact: { email: emailOf() } });
      const { app, runtime } = api.instances[0]!;
      const signed = await lastStream(client, 'signature');
      const [event] = await runtime.store.readStream(client.organizationId, signed);
      const reaction = app.get(
        subscriptions.find(({ name }) => name === 'PetitionGoals')!,
        { strict: false },
      );
      return refusalOf(reaction.handle(event!, new AbortController().signal));
    },
  },
  list: {
    make: makeList,
    show: (client, listId) => client.get('list.get-list', { listId }),
    bySelf: true,
    decide: (client, listId) => client.post('list.update-list', { listId, description: 'Friends' }),
    next: { type: 'ListUpdated', data: { description: 'Later' } },
  },
  tag: {
    make: makeTag,
    show: (client, tagId) => client.get('tag.get-tag', { tagId }),
    bySelf: true,
    decide: (client, tagId) => client.post('tag.update-tag', { tagId, description: 'Friends' }),
    next: { type: 'TagUpdated', data: { description: 'Later' } },
  },
  image: {
    make: makeImage,
    show: (client, imageId) => client.get('image.get-image', { imageId }),
    bySelf: true,
    decide: (client, imageId) => client.post('image.update-image', { imageId, alt: 'Friends' }),
    next: { type: 'ImageUpdated', data: { alt: 'Later' } },
  },
  webhook: {
    make: makeWebhook,
    // Without what is so now alone.
    async show(client, webhookId) {
      const answer = await client.get('webhook.get-webhook', { webhookId });
      const ofNow = { status: null, position: null, lag: null, lastDelivery: null };
      return { ...answer, body: { ...answer.body, data: { ...answer.body.data, ...ofNow } } };
    },
    bySelf: true,
    decide: (client, webhookId) =>
      client.post('webhook.update-webhook', { webhookId, description: 'Friends' }),
    next: { type: 'WebhookUpdated', data: { description: 'Later' } },
  },
  petition: {
    make: makePetition,
    show: (client, petitionId) => client.get('petition.get-petition', { petitionId }),
    bySelf: true,
    decide: (client, petitionId) =>
      client.post('petition.add-signature', { petitionId, contact: { email: emailOf() } }),
    next: { type: 'PetitionUpdated', data: { goal: 7 } },
  },
  broadcast: {
    make: (client) => idOf(client.post('broadcast.create-broadcast', { name: uuidv7() })),
    show: (client, broadcastId) => client.get('broadcast.get-broadcast', { broadcastId }),
    bySelf: true,
    decide: (client, broadcastId) =>
      client.post('broadcast.update-broadcast', { broadcastId, subject: 'New' }),
    next: { type: 'BroadcastUpdated', data: { subject: 'Later' } },
  },
  post: {
    make: (client) => idOf(client.post('post.create-post', { name: uuidv7() })),
    show: (client, postId) => client.get('post.get-post', { postId }),
    bySelf: true,
    decide: (client, postId) => client.post('post.publish-post', { postId }),
    next: { type: 'PostUpdated', data: { title: 'Later' } },
  },
  'api-key': {
    make: async (client) => (await api.createKey(client.organizationId)).id,
    show: (client) => client.get('api-key.list-api-keys'),
    bySelf: false,
    decide: (client, apiKeyId) => client.delete('api-key.revoke-api-key', { apiKeyId }),
  },
  signature: {
    async make(client) {
      const [recordId, contactId] = [await makePetition(client), await makeContact(client)];
      const id = await idOf(client.post('petition.add-signature', { petitionId: recordId, contactId }));
      links.set(id, { recordId, contactId });
      return id;
    },
    show: (client, id) => client.get('petition.get-petition', { petitionId: links.get(id)!.recordId }),
    bySelf: false,
    decide: (client, id) => {
      const { recordId: petitionId, contactId } = links.get(id)!;
      return client.delete('petition.remove-signature', { petitionId, contactId });
    },
  },
  'signature-invalidation': {
    async make(client) {
      const petitionId = await makePetition(client);
      const signatureId = await idOf(
        client.post('petition.add-signature', { petitionId, contact: { email: emailOf() } }),
      );
      return idOf(client.post('petition.invalidate-signatures', { petitionId, signatureIds: [signatureId] }));
    },
    show: (client, invalidationId) => client.get('petition.get-invalidation', { invalidationId }),
    bySelf: true,
    decide: (client, invalidationId) => client.post('petition.restore-signatures', { invalidationId }),
  },
  'list-membership': {
    async make(client) {
      const [recordId, contactId] = [await makeList(client), await makeContact(client)];
      await client.post('list.add-contacts', { listId: recordId, contactIds: [contactId] });
      const id = await lastStream(client, 'list-membership');
      links.set(id, { recordId, contactId });
      return id;
    },
    show: (client, id) => client.get('list.get-list', { listId: links.get(id)!.recordId }),
    bySelf: false,
    decide: (client, id) => {
      const { recordId: listId, contactId } = links.get(id)!;
      return client.delete('list.remove-contacts', { listId, contactIds: [contactId] });
    },
  },
  tagging: {
    async make(client) {
      const [recordId, contactId] = [await makeTag(client), await makeContact(client)];
      await client.post('tag.add-contacts', { tagId: recordId, contactIds: [contactId] });
      const id = await lastStream(client, 'tagging');
      links.set(id, { recordId, contactId });
      return id;
    },
    show: (client, id) => client.get('tag.get-tag', { tagId: links.get(id)!.recordId }),
    bySelf: false,
    decide: (client, id) => {
      const { recordId: tagId, contactId } = links.get(id)!;
      return client.delete('tag.remove-contacts', { tagId, contactIds: [contactId] });
    },
  },
  'history-access': {
    async make(client) {
      await client.get('event.list-events');
      return lastStream(client, 'history-access');
    },
    show: (client) => client.get('event.list-events', { recordType: 'history-access' }),
    bySelf: false,
    // Nothing ever rests on these.
    decide: () => Promise.resolve({ status: 503, body: { error: { reason: 'NEWER_VERSION' } } } as Answer),
  },
  'history-reads': {
    async make(client) {
      await client.get('event.list-events');
      await api.tellReads(client.organizationId);
      return lastStream(client, 'history-reads');
    },
    show: (client) => client.get('event.list-events', { recordType: 'history-reads' }),
    bySelf: false,
    decide: () => Promise.resolve({ status: 503, body: { error: { reason: 'NEWER_VERSION' } } } as Answer),
  },
  suppression: {
    async make(client) {
      const email = emailOf();
      const id = await idOf(client.post('suppression.create-suppression', { email }));
      emails.set(id, email);
      return id;
    },
    show: (client, id) => client.get('suppression.list-suppressions', { email: emails.get(id)! }),
    bySelf: false,
    decide: (client, id) =>
      client.post('suppression.create-suppression', { email: emails.get(id)!, reason: 'BOUNCED' }),
    next: { type: 'SuppressionEnded', data: { reason: null } },
  },
  member: {
    make: (client) => idOf(client.post('team.invite-member', { email: emailOf(), role: 'VIEWER' })),
    show: (client) => client.get('team.list-invitations'),
    bySelf: false,
    decide: (client, invitationId) => client.delete('team.revoke-invitation', { invitationId }),
    next: { type: 'InvitationRenewed', data: { role: 'EDITOR' } },
  },
  'suppressed-address': {
    async make(client) {
      const email = emailOf();
      await client.post('suppression.create-suppression', { email });
      const id = await lastStream(client, 'suppressed-address');
      emails.set(id, email);
      return id;
    },
    show: (client, id) => client.get('suppression.list-suppressions', { email: emails.get(id)! }),
    bySelf: false,
    decide: (client, id) => client.delete('suppression.delete-suppression', { email: emails.get(id)! }),
  },
  'contact-mail': {
    async make(client) {
      const { organizationId } = client;
      const email = emailOf();
      await client.post('contact.create-contact', { organizationId, email });
      await report(client, email);
      const id = await lastStream(client, 'contact-mail');
      emails.set(id, email);
      return id;
    },
    show: (client) => client.get('event.list-events', { recordType: 'contact-mail' }),
    bySelf: false,
    async decide(client, id) {
      const refused: unknown = await report(client, emails.get(id)!).catch((error: unknown) => error);
      expect([NewerEvent, DamagedEvent]).toContain((refused as object).constructor);
      const reason = refused instanceof NewerEvent ? 'NEWER_VERSION' : 'HISTORY_DAMAGED';
      return { status: 503, body: { error: { reason } } } as Answer;
    },
  },
  'signing-key': {
    async make(client) {
      const { organizationId } = client;
      const signers = new Signers([Buffer.alloc(32, 2), Buffer.alloc(32, 1)]);
      const { store } = api.instances[0]!.runtime;
      await tellSuccession(store, organizationId, signers.succession(organizationId)!);
      return lastStream(client, 'signing-key');
    },
    show: (client) => client.get('event.list-events', { recordType: 'signing-key' }),
    bySelf: false,
    decide: () => Promise.resolve({ status: 503, body: { error: { reason: 'NEWER_VERSION' } } } as Answer),
  },
};

const UNKNOWN = 'WrittenTomorrow';

/** Stores an event as a later version would, and waits for the read models as its command would. */
async function append(
  client: Client,
  streamType: string,
  streamId: string,
  event: DomainEvent,
  store: EventStore = later,
) {
  const { organizationId } = client;
  const before = await api.database.source.query(
    'SELECT max(version) AS version FROM events WHERE organization_id = $1 AND stream_id = $2',
    [organizationId, streamId],
  );
  const expectedVersion = before[0].version as number;
  const metadata = { actor: { type: 'system', id: null }, requestId: 'later' } as const;
  const writes = [{ streamType, streamId, expectedVersion, events: [event] }];
  const result = await store.append({ organizationId, metadata, writes });
  expect(result.status).toBe('appended');
  await api.instances[0]!.runtime.projections.catchUp(await later.lastPosition());
}

/** The same kind of record, in another organization, is made, shown and decided on as ever. */
async function expectOthersGoOn(kind: Kind): Promise<void> {
  const id = await kind.make(other);
  expect((await kind.show(other, id)).status).toBe(200);
}

const refusalFor = (reason: string) => ({ status: 503, body: { error: { reason } } });
const refusal = refusalFor('NEWER_VERSION');

it('every kind of stream is tried', () => {
  expect(Object.keys(kinds).toSorted()).toEqual(streams.map(({ streamType }) => streamType).toSorted());
});

it('a read model that holds records handles every type of their events', () => {
  for (const { name, snapshots, handles } of projections) {
    if (!snapshots) continue;
    const { events } = streams.find(({ streamType }) => streamType === snapshots.streamType)!;
    expect({ [name]: Object.keys(events).filter((type) => !handles.includes(type)) }).toEqual({ [name]: [] });
  }
});

describe.each(streams.map(({ streamType, events }) => [streamType, Object.keys(events)] as const))(
  '%s',
  (streamType, types) => {
    const kind = kinds[streamType]!;

    it('an event of an unknown type is left out where the record is shown, and nothing is decided on it', async () => {
      const client = await api.organization();
      const id = await kind.make(client);
      const before = await kind.show(client, id);
      await append(client, streamType, id, { type: UNKNOWN, data: { what: 'ever' } });

      const shown = await kind.show(client, id);
      expect(shown.status).toBe(200);
      if (kind.bySelf) expect(shown.body).toEqual(before.body);
      expect(await kind.decide(client, id)).toMatchObject(refusal);
      await expectOthersGoOn(kind);

      if (!kind.next) return;
      await append(client, streamType, id, kind.next);
      // Whose row has gone on without the event is still not decided on.
      expect(await kind.decide(client, id)).toMatchObject(refusal);
    });

    it('an event that somebody has put there, whose data are no object, is left out, listed and stops nobody', async () => {
      const client = await api.organization();
      const id = await kind.make(client);
      const before = await kind.show(client, id);
      const { source, store } = api.instances[0]!.runtime;
      const somebody = new EventStore(source, store.keyring);
      for (const data of ['a text', null, 7, ['a list']]) {
        await append(client, streamType, id, { type: types.at(-1)!, data: data as never }, somebody);
      }
      const shown = await kind.show(client, id);
      expect(shown.status).toBe(200);
      if (kind.bySelf) expect(shown.body).toEqual(before.body);
      const asOf = new Date().toISOString();
      if (shown.body.data.id === id && streamType !== 'organization') {
        const [service, object] =
          streamType === 'signature-invalidation' ? ['petition', 'invalidation'] : [streamType, streamType];
        const fields: Record<string, string> = { [`${object}Id`]: id, asOf };
        if (streamType === 'contact') fields.organizationId = client.organizationId;
        const past = await client.get(`${service}.get-${object}`, fields);
        expect(past.status).toBe(200);
      }
      // Nothing ever rests on what was read, nor on a key that signs.
      if (!streamType.startsWith('history-') && streamType !== 'signing-key') {
        expect(await kind.decide(client, id)).toMatchObject(refusalFor('HISTORY_DAMAGED'));
      }
      await expectOthersGoOn(kind);

      const { body } = await client.get('event.list-events', { recordId: id, limit: '1000' });
      const damaged = body.data.filter(({ data }: { data: unknown }) => data === null);
      expect(damaged).toHaveLength(4);
      const found = await client.get('event.get-event', { eventId: damaged[0].id });
      expect(found.body.data).toEqual(damaged[0]);
      const exported = await client.get('event.export-events');
      const lines = exported.body
        .trimEnd()
        .split('\n')
        .map((line: string) => JSON.parse(line));
      expect(lines.map(({ data }: { data: unknown }) => data)).toEqual(
        expect.arrayContaining(['a text', null, 7]),
      );
    });

    it.each(types)('%s in an unknown shape stops nobody, and is not guessed', async (type) => {
      const client = await api.organization();
      const id = await kind.make(client);
      await append(client, streamType, id, { type, data: { what: 'ever' } });

      const shown = await kind.show(client, id);
      if (kind.bySelf) expect(shown).toMatchObject(refusal);
      else expect(shown.status).toBe(200);
      expect(await kind.decide(client, id)).toMatchObject(refusal);
      await expectOthersGoOn(kind);
    });
  },
);

it('a known event after an unknown one is taken in, also an erasure', async () => {
  const client = await api.organization();
  const contactId = await makeContact(client);
  await append(client, 'contact', contactId, { type: UNKNOWN, data: {} });
  await append(client, 'contact', contactId, { type: 'WrittenTomorrowToo', data: {} });
  const store = api.instances[0]!.runtime.store;
  const metadata = { actor: { type: 'system', id: null }, requestId: 'later' } as const;
  const { organizationId } = client;
  const write = (expectedVersion: number, type: string) => ({
    organizationId,
    metadata,
    writes: [{ streamType: 'contact', streamId: contactId, expectedVersion, events: [{ type, data: {} }] }],
  });
  await store.append(write(3, 'ContactUnsubscribed'));
  await api.instances[0]!.runtime.projections.catchUp(await store.lastPosition());
  const { body } = await client.get('contact.get-contact', { organizationId, contactId });
  expect(body.data).toMatchObject({ subscribed: false, bio: 'Ω' });
  await store.append({ ...write(4, 'ContactErased'), erases: [contactId] });
  await api.instances[0]!.runtime.projections.catchUp(await store.lastPosition());
  expect((await client.get('contact.get-contact', { organizationId, contactId })).status).toBe(404);
});

it('a key of which a later version wrote what nobody here knows opens nothing', async () => {
  const client = await api.organization();
  const { id, key } = await api.createKey(client.organizationId);
  await append(client, 'api-key', id, { type: 'ApiKeyRevoked', data: {} });
  const answer = await new Client(client.origin, client.organizationId, key).get('list.list-lists');
  expect(answer).toMatchObject(refusal);
});

it('the history is listed, exported, proved and past records are shown, whatever it has', async () => {
  const client = await api.organization();
  const petitionId = await makePetition(client);
  const before = (await client.get('petition.get-petition', { petitionId })).body.data;
  await append(client, 'petition', petitionId, { type: UNKNOWN, data: { what: 'ever' } });
  await append(client, 'petition', petitionId, { type: 'PetitionClosed', data: { why: 'won' } });
  const asOf = (moment: string) => client.get('petition.get-petition', { petitionId, asOf: moment });
  expect((await asOf(before.updatedAt)).body.data).toEqual(before);
  expect(await asOf('9999-01-01T00:00:00Z')).toMatchObject(refusal);

  const { body: listed } = await client.get('event.list-events', { recordId: petitionId });
  expect(listed.data.slice(-2)).toMatchObject([
    { type: UNKNOWN, data: { what: 'ever' } },
    { type: 'PetitionClosed' },
  ]);
  const { checkpoint } = (await client.get('event.get-checkpoint')).body.data;
  const exported = (await client.get('event.export-events')).body;
  const { signers } = api.instances[0]!.runtime;
  expect(await verifyTwice(exported, checkpoint, signers.verifierKey)).toMatchObject({ ok: true });
});

it('an import leaves out the line of a contact that it cannot read, and imports the others', async () => {
  const client = await api.organization();
  const { organizationId } = client;
  const [email, another] = [emailOf(), emailOf()];
  const contactId = await idOf(client.post('contact.create-contact', { organizationId, email }));
  await append(client, 'contact', contactId, { type: 'ContactUpdated', data: {} });
  const lines = [email, another]
    .map((address) => JSON.stringify({ email: address, city: 'Accra' }))
    .join('\n');
  const { body } = await client.request(
    'POST',
    `/v1/contact.import-contacts?organizationId=${organizationId}&onConflict=update`,
    lines,
    { 'Content-Type': 'application/x-ndjson' },
  );
  expect(body.data).toMatchObject({ created: 1, failed: [{ line: 1 }] });
});

it('no read model has stopped, and each is what a rebuild makes of the same history', async () => {
  const { projections: readModels } = api.instances[0]!.runtime;
  // Those that nobody waited for follow within half a second.
  await readModels.catchUpWithLog();
  for (const { name, failure, lag } of await readModels.status()) {
    expect({ name, failure, lag }).toEqual({ name, failure: null, lag: 0 });
    expect({ [name]: await readModels.maintenance.verify(name) }).toEqual({ [name]: [] });
  }
});
