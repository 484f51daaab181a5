import { Readable } from 'node:stream';
import { RecordReader } from '#libs/commands';
import {
  type Cast,
  type Decider,
  type DomainEvent,
  EventStore,
  fold,
  type JsonObject,
  type RecordedEvent,
  type Upcasters,
} from '#libs/event-store';
import { replay } from '#libs/projections';
import { newId } from '#libs/random';
import { broadcast } from '../src/broadcasts/index.js';
import { readExported } from '../src/history/index.js';
import { projections, replayables, streams, upcasters } from '../src/modules.js';
import { organization } from '../src/organizations/index.js';
import { petition, petitions, signatureRequests } from '../src/petitions/index.js';
import { Confirmations } from '../src/confirmations/index.js';
import { post } from '../src/posts/index.js';
import { csv, Fixture } from './fixture.js';
import { Api, Client, differencesIn } from './harness.js';
import { type Made, RECORD_KINDS, requestsFor, type RecordKind } from './record-kinds.js';
import { verifyTwice } from './verifiers.js';
import { isLong, longIt, someOf } from './length.js';

/**
 * Events of a later version, written by an event store into streams of every type: of an unknown type, and of every type in an
 * unknown schema.
 */
let api: Api;
let later: EventStore;
let own: Fixture;
let other: Fixture;
beforeAll(async () => {
  api = await Api.start();
  api.startWorkers();
  const { source, store } = api.instances[0]!.runtime;
  const types = streams.flatMap(({ events }) => Object.keys(events));
  const same: Cast = (body) => body;
  const shapes = types.map((type) => {
    const known = upcasters[type]?.reads ?? [];
    return [type, { reads: [same, ...known], writes: 'newest' }] as const;
  });
  later = new EventStore(source, store.keyring, Object.fromEntries(shapes) satisfies Upcasters);
  other = new Fixture(api, await api.organization());
});
afterAll(() => api.stop({ areForged: true }));

/** Streams that exist once per organization or are created rarely. Each test of these needs a new organization. */
const ONE_EACH = [
  ...['organization', 'sender', 'public-log', 'history-access', 'history-reads', 'register', 'signing-key'],
  'petition-goal',
];

const hasOrganization = (hook: typeof beforeAll) =>
  hook(async () => {
    own = new Fixture(api, await api.organization());
  });

const UNKNOWN = 'WrittenTomorrow';

/** Stores an event as a later version would, and waits for the projections as its command would. */
async function append(
  streamType: string,
  streamId: string,
  event: DomainEvent | DomainEvent[],
  { store = later, isErasure = false }: { store?: EventStore; isErasure?: boolean } = {},
) {
  const { organizationId } = own;
  const before = await api.database.source.query(
    'SELECT max(version) AS version FROM events WHERE organization_id = $1 AND stream_id = $2',
    [organizationId, streamId],
  );
  const expectedVersion = before[0].version as number;
  const metadata = { actor: { type: 'system', id: null }, requestId: 'later' } as const;
  const added = [event].flat();
  const writes = [{ streamType, streamId, expectedVersion, events: added }];
  const result = await store.append({
    organizationId,
    metadata,
    writes,
    erases: isErasure ? [streamId] : [],
  });
  expect(result.status).toBe('appended');
  const { events } = streams.find((one) => one.streamType === streamType)!;
  await api.instances[0]!.runtime.projections.catchUp(await later.lastPosition(), Object.keys(events));
}

/** Expects that a command on the record is rejected with this reason. */
async function expectRefused(kind: RecordKind, made: Made, reason: string): Promise<void> {
  if (kind.decide === 'none') return;
  expect(await kind.decide(own, made)).toMatchObject(refusalFor(reason));
}

const refusalFor = (reason: string) => ({ status: 503, body: { error: { reason } } });
const refusal = refusalFor('NEWER_VERSION');

it('a projection that holds records handles every type of their events', () => {
  for (const { name, snapshots, handles } of projections) {
    if (!snapshots) continue;
    const { events } = streams.find(({ streamType }) => streamType === snapshots.streamType)!;
    expect({ [name]: Object.keys(events).filter((type) => !handles.includes(type)) }).toEqual({ [name]: [] });
  }
});

/** The same record, but with the version after events that it does not know: they count, because they do change the record. */
function afterEvents({ data, ...before }: any, shown: any, isPart = false): unknown {
  if (data?.version === undefined || isPart) return { ...before, data };
  expect(shown.data.version).toBeGreaterThan(data.version);
  return { ...before, data: { ...data, version: shown.data.version } };
}

describe.each(streams.map(({ streamType, events }) => [streamType, Object.keys(events)] as const))(
  '%s',
  (streamType, types) => {
    const kind = RECORD_KINDS[streamType]!;
    hasOrganization(ONE_EACH.includes(streamType) ? beforeEach : beforeAll);

    it('ignores an event of an unknown type when showing a record, but rejects changes to it', async () => {
      const made = await kind.make(own);
      const before = await kind.show(own, made);
      await append(streamType, made.id, { type: UNKNOWN, data: { what: 'ever' } });

      const shown = await kind.show(own, made);
      expect(shown.status).toBe(200);
      if (kind.showsItself) expect(shown.body).toEqual(afterEvents(before.body, shown.body, kind.isPart));
      await expectRefused(kind, made, 'NEWER_VERSION');

      if (!kind.next) return;
      await append(streamType, made.id, kind.next);
      // The command is still rejected after the row has continued without the event.
      await expectRefused(kind, made, 'NEWER_VERSION');
    });

    it('ignores and lists an event with malformed data from another program, without failing', async () => {
      const made = await kind.make(own);
      const before = await kind.show(own, made);
      const { source, store } = api.instances[0]!.runtime;
      const otherProgram = new EventStore(source, store.keyring);
      const data = ['a text', null, 7, ['a list']];
      const damaging = data.map((one) => ({ type: types.at(-1)!, data: one as never }));
      await append(streamType, made.id, damaging, { store: otherProgram });
      const shown = await kind.show(own, made);
      expect(shown.status).toBe(200);
      if (kind.showsItself) expect(shown.body).toEqual(afterEvents(before.body, shown.body, kind.isPart));
      const asOf = '9999-01-01T00:00:00Z';
      const { id, ...ids } = made;
      const requests = kind.past ? requestsFor(kind.past, { [kind.past.idField]: id, ...ids }) : [];
      for (const { operation, fields } of requests) await own.ask(operation, { ...fields, asOf });
      await expectRefused(kind, made, 'HISTORY_DAMAGED');

      const events = await own.ask('history.list-events', { recordId: made.id, limit: '1000' });
      const damaged = events.filter(({ data }: { data: unknown }) => data === null);
      expect(damaged).toHaveLength(4);
      expect(await own.ask('history.get-event', { eventId: damaged[0].id })).toEqual(damaged[0]);
      const exported = await own.send('history.export-events');
      const lines = exported.body
        .trimEnd()
        .split('\n')
        .map((line: string) => JSON.parse(line));
      expect(lines.map(({ data }: { data: unknown }) => data)).toEqual(
        expect.arrayContaining(['a text', null, 7]),
      );
    });

    it.each(someOf(types))('does not fail on or guess at %s in an unknown schema', async (type) => {
      const made = await kind.make(own);
      // An erasure destroys the person's key in every version. Otherwise, a rebuild would show the person again.
      const isErasure = type === 'ContactErased';
      await append(streamType, made.id, { type, data: { what: 'ever' } }, { isErasure });

      const shown = await kind.show(own, made);
      if (kind.showsItself) expect(shown).toMatchObject(refusal);
      else expect(shown.status).toBe(200);
      await expectRefused(kind, made, 'NEWER_VERSION');
    });

    // The last test compares all projections, so `npm test` creates one record for several streams.
    const isTried = isLong || ['contact', 'petition', 'api-key'].includes(streamType);
    (isTried ? it : longIt)(
      'afterwards a record in another organization can be created and shown',
      async () => {
        const made = await kind.make(other);
        expect((await kind.show(other, made)).status).toBe(200);
      },
    );
  },
);

describe('a single record', () => {
  hasOrganization(beforeEach);

  it('applies a known event after an unknown one, including an erasure', async () => {
    const contact = RECORD_KINDS.contact!;
    const made = await contact.make(own);
    await append('contact', made.id, { type: UNKNOWN, data: {} });
    await append('contact', made.id, { type: 'WrittenTomorrowToo', data: {} });
    const { store, projections: readModels } = api.instances[0]!.runtime;
    const write = (expectedVersion: number, type: string) => ({
      organizationId: own.organizationId,
      metadata: { actor: { type: 'system', id: null }, requestId: 'later' } as const,
      writes: [{ streamType: 'contact', streamId: made.id, expectedVersion, events: [{ type, data: {} }] }],
    });
    await store.append(write(3, 'ContactUnsubscribed'));
    await readModels.catchUp(await store.lastPosition());
    expect((await contact.show(own, made)).body.data).toMatchObject({ subscribed: false, bio: 'Ω' });
    await store.append({ ...write(4, 'ContactErased'), erases: [made.id] });
    await readModels.catchUp(await store.lastPosition());
    expect((await contact.show(own, made)).status).toBe(404);
  });

  it('an API key with an unknown event is rejected', async () => {
    const { id, key } = await api.createKey(own.organizationId);
    await append('api-key', id, { type: 'ApiKeyRevoked', data: {} });
    const by = new Client(api.origin, own.organizationId, key);
    expect(await own.send('list.list-lists', {}, { by })).toMatchObject(refusal);
  });

  it('the history is listed, exported and verified, and past records are shown, with any events', async () => {
    const { petitionId = '' } = await own.a('petition');
    const before = await own.ask('petition.get-petition', { petitionId });
    await append('petition', petitionId, { type: UNKNOWN, data: { what: 'ever' } });
    await append('petition', petitionId, { type: 'PetitionClosed', data: { why: 'won' } });
    const asOf = (moment: string) => own.send('petition.get-petition', { petitionId, asOf: moment });
    expect((await asOf(before.updatedAt)).body.data).toEqual(before);
    expect(await asOf('9999-01-01T00:00:00Z')).toMatchObject(refusal);

    const events = await own.ask('history.list-events', { recordId: petitionId });
    expect(events.slice(-2)).toMatchObject([
      { type: UNKNOWN, data: { what: 'ever' } },
      { type: 'PetitionClosed' },
    ]);
    const { checkpoint } = await own.ask('history.get-checkpoint');
    const exported = (await own.send('history.export-events')).body;
    const { signers } = api.instances[0]!.runtime;
    expect(await verifyTwice(exported, checkpoint, signers.verifierKey)).toMatchObject({ ok: true });
  });

  it('the audience of a broadcast with an unknown kind of group is not guessed', async () => {
    const { broadcastId } = await own.ask('broadcast.create-broadcast', { name: 'May' });
    const audience = { all: true, excludeCircleIds: [broadcastId] };
    const { store } = api.instances[0]!.runtime;
    await append('broadcast', broadcastId, { type: 'BroadcastUpdated', data: { audience } }, { store });
    // Not with the client, which compares bodies with this version's document.
    const { status } = await fetch(
      `${own.client.origin}/v1/broadcast.get-broadcast?broadcastId=${broadcastId}`,
      {
        headers: { Authorization: `Bearer ${own.client.key}` },
      },
    );
    expect(status).toBe(200);
    expect(await own.send('broadcast.preview-audience', { broadcastId })).toMatchObject(refusal);
  });

  it('an import skips the contact that it cannot read, and imports the others', async () => {
    const { email } = own.person();
    const { contactId } = await own.ask('contact.create-contact', { email });
    await append('contact', contactId, { type: 'ContactUpdated', data: {} });
    const lines = csv('email,city', `${email},Accra`, `${own.person().email},Accra`);
    const imported = await own.ask('contact.import-contacts', { ...lines, onConflict: 'update' });
    expect(imported).toMatchObject({ created: 1, failed: [{ line: 2 }] });
  });
});

describe('what only the next release writes', () => {
  hasOrganization(beforeEach);

  /** Stores an event in its newest shape. @param subjectId whose personal data it contains. */
  async function write(streamType: string, streamId: string, subjectId: string, event: DomainEvent) {
    const { source, store, projections: readModels } = api.instances[0]!.runtime;
    const shapes = Object.entries(upcasters).map(([type, { reads }]) => [type, { reads, writes: 'newest' }]);
    const next = new EventStore(source, store.keyring, Object.fromEntries(shapes) as Upcasters);
    const expectedVersion = (await next.readStream(own.organizationId, streamId)).length;
    const write = { streamType, streamId, expectedVersion, events: [event], subjectId };
    const metadata = { actor: { type: 'system', id: null }, requestId: 'next' } as const;
    const { organizationId } = own;
    expect(await next.append({ organizationId, metadata, writes: [write] })).toMatchObject({
      status: 'appended',
    });
    await readModels.catchUp(await next.lastPosition());
  }

  it('a signature from paper counts on the day it was signed, and exists since it was recorded', async () => {
    const { petitionId } = (await own.a('petition')) as { petitionId: string };
    const { contactId } = await own.ask('contact.create-contact', own.person());
    const before = new Date().toISOString();
    const [signatureId, signedAt] = [newId(), '2024-05-31T12:00:00.000Z'];
    const data = { ...signed, ...asked, petitionId, contactId, broadcastId: null, signedAt };
    const personal = { comment: 'For the river' };
    await write('signature', signatureId, contactId, { type: 'PetitionSigned', data, personal });

    const shown = { id: signatureId, contactId, comment: 'For the river', source: 'paper', signedAt };
    const [listed] = await own.ask('petition.list-signatures', { petitionId, status: 'CONFIRMED' });
    expect(listed).toMatchObject(shown);
    expect(listed.createdAt >= before).toBe(true);
    expect(await own.ask('petition.list-signatures', { contactId })).toEqual([listed]);
    expect(await own.ask('petition.list-signatures', { petitionId, createdBefore: before })).toEqual([]);
    expect(JSON.parse((await own.send('petition.export-signatures', { petitionId })).body)).toEqual(listed);

    const days = [{ date: '2024-05-31', signatures: 1 }];
    expect(await own.ask('petition.get-stats', { petitionId })).toMatchObject({ signatures: 1, days });
    const asOf = await own.ask('petition.get-stats', { petitionId, asOf: before });
    expect(asOf).toMatchObject({ signatures: 0, days: [] });
    expect(await own.ask('petition.get-petition', { petitionId })).toMatchObject({ signatures: 1 });

    const signedIn = async (filter: object) => {
      const { segmentId } = await own.ask('segment.create-segment', { name: own.unique(), filter });
      return (await own.ask('segment.preview-segment', { segmentId })).count;
    };
    expect(await signedIn({ signed: petitionId })).toBe(1);
    expect(await signedIn({ signed: petitionId, inLast: 30 })).toBe(0);
    expect(await signedIn({ signed: petitionId, inLast: 3_650 })).toBe(1);
  });

  const signed = { source: 'paper', suspicion: [], isCommentPublic: false, signedAt: null };
  const asked = { appearance: 'FULL_NAME', via: newId(), language: 'fr' };

  it('a signature keeps how it appears and what led to it, also after it was moved', async () => {
    const { petitionId } = (await own.a('petition')) as { petitionId: string };
    const [one, other] = [await own.a('contact'), await own.a('contact')];
    const [signatureId, broadcastId] = [newId(), newId()];
    const data = { ...signed, ...asked, petitionId, contactId: one.contactId!, broadcastId };
    await write('signature', signatureId, one.contactId!, { type: 'PetitionSigned', data });
    await own.ask('contact.merge-contacts', { contactId: other.contactId, otherIds: [one.contactId] });
    const [row] = await api.database.source.query(
      `SELECT subject_id, appearance, via, broadcast_id FROM ${petitions.linkTable} WHERE id = $1`,
      [signatureId],
    );
    expect(row).toEqual({
      ...{ subject_id: other.contactId, appearance: 'FULL_NAME', via: asked.via, broadcast_id: broadcastId },
    });
  });

  it('a request is shown and confirmed with every detail that its form asked for', async () => {
    const { petitionId } = (await own.a('petition')) as { petitionId: string };
    const { organizationId } = own;
    const requestId = newId();
    const details = { zip: '1', city: 'Lyon', region: 'Rhône', country: 'FR', phone: '+33 4' };
    const personal = { ...own.person(), ...details, comment: 'Ω', clientAddress: null, customFields: {} };
    const data = { ...signed, ...asked, petitionId, subscribe: false };
    await write('signature-request', requestId, requestId, { type: 'SignatureRequested', data, personal });
    const confirmations = api.instances[0]!.app.get(Confirmations, { strict: false });
    const token = confirmations.tokenOf(signatureRequests, { organizationId, requestId });
    const page = `${api.origin}/${organizationId}/petitions/${petitionId}/confirm/${token}`;
    const shown = await (await fetch(page)).text();
    for (const detail of ['Lyon', 'Rhône', '+33 4']) expect(shown).toContain(detail);
    expect((await fetch(page, { method: 'POST' })).status).toBe(200);
    const { email } = personal;
    const [signer] = await own.ask('contact.list-contacts', { petitionId, email });
    expect(signer).toMatchObject(details);
  });

  const form = (fieldId: string): JsonObject => ({
    fields: [
      { field: 'phone', required: true },
      { fieldId, required: true },
    ],
    consent: { text: 'Write to me', required: true },
  });
  const thankYou = { title: 'Thanks', text: null, nextUrl: 'https://example.org/', nextLabel: 'Donate' };

  const read = async (decider: Decider<any, any>, id: string): Promise<object> => {
    const records = api.instances[0]!.app.get(RecordReader, { strict: false });
    const { state } = await records.look(decider, own.organizationId, id);
    const events = await api.instances[0]!.runtime.store.readStream(own.organizationId, id);
    expect(fold(decider, events as RecordedEvent<any>[]).state).toEqual(state);
    return state;
  };

  it.each<[string, Decider<any, any>, (fieldId: string) => JsonObject]>([
    [
      'petition',
      petition,
      (fieldId) => ({
        ...{ comments: 'APPROVED', form: form(fieldId), thankYou, autoGoal: true, language: 'fr' },
        ...{ thankYouMail: { subject: 'Thanks', content: 'Ω' }, outcome: 'WON', outcomeText: 'Won' },
        translations: { de: { title: 'Fluss', content: 'Ω' }, es: { title: 'Río' } },
      }),
    ],
    ['post', post, () => ({ petitionId: newId(), publishAt: '2099-01-01T00:00:00.000Z' })],
    ['broadcast', broadcast, () => ({ countClicks: true })],
    ['organization', organization, () => ({ timeZone: 'Europe/Berlin' })],
  ])('a %s keeps fields that earlier clients do not send', async (kind, decider, fieldsOf) => {
    const { fieldId } = await own.a('field');
    const idField = `${kind}Id`;
    const made = kind === 'organization' ? { organizationId: own.organizationId } : await own.a(kind);
    const id = (made as Record<string, string>)[idField]!;
    const get = (more: object = {}) => own.ask(`${kind}.get-${kind}`, { [idField]: id, ...more });
    const before = await get();
    const fields = fieldsOf(fieldId!);
    const type = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}Updated`;
    await write(kind, id, id, { type, data: fields });
    expect(await read(decider, id)).toMatchObject(fields);

    // A change by this release keeps them, even if it sends back everything that it was shown.
    const sent = {
      name: 'Renamed',
      ...(kind === 'petition' ? { publicComments: false, formFields: [{ fieldId, required: true }] } : {}),
    };
    const changed = await own.ask(`${kind}.update-${kind}`, { [idField]: id, ...sent });
    // Fields that this release can set are returned. The form names custom fields by their keys.
    const shown = Object.fromEntries(Object.entries(fields).filter(([field]) => field in before));
    if (kind === 'petition') shown.form = expect.anything();
    const [updatedAt, version] = [expect.any(String), expect.any(Number)];
    expect(changed).toEqual({ ...before, ...shown, ...sent, updatedAt, version });
    expect(await read(decider, id)).toMatchObject({ ...fields, name: 'Renamed' });
    expect(await get()).toEqual(changed);
    expect(await get({ asOf: '9999-01-01T00:00:00Z' })).toMatchObject(sent);
    if (kind === 'petition') {
      const page = await fetch(`${api.origin}/${own.organizationId}/petitions/${id}`);
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('name="fields.')]);
    }
    const lines: string[] = (await own.send('history.export-events')).body.trimEnd().split('\n');
    const events = Readable.from(lines.map((line) => readExported(line, upcasters)!));
    const replayed = (await replay(replayables, events)).find(({ object }) => object === kind)!;
    expect([...replayed.records]).toContainEqual(expect.objectContaining({ id, ...sent }));
  });

  it('a changed translation of a petition leaves the others', async () => {
    const { petitionId } = (await own.a('petition')) as { petitionId: string };
    const update = (translations: JsonObject) =>
      write('petition', petitionId, petitionId, { type: 'PetitionUpdated', data: { translations } });
    await update({ de: { title: 'Fluss' }, es: { title: 'Río' } });
    await update({ de: null, fr: { title: 'Fleuve' } });
    const translations = { es: { title: 'Río' }, fr: { title: 'Fleuve' } };
    expect(await read(petition, petitionId)).toHaveProperty('translations', translations);
  });

  it('other custom fields, set by an earlier client, leave the rest of its form', async () => {
    const { petitionId } = (await own.a('petition')) as { petitionId: string };
    const { fieldId } = await own.a('field');
    const data = { form: form(fieldId!), comments: 'APPROVED' };
    await write('petition', petitionId, petitionId, { type: 'PetitionUpdated', data });
    const changed = { formFields: [], publicComments: true };
    expect(await own.ask('petition.update-petition', { petitionId, ...changed })).toMatchObject(changed);
    expect(await read(petition, petitionId)).toMatchObject({
      comments: 'SHOWN',
      form: { fields: [{ field: 'phone', required: true }], consent: form('').consent },
    });
  });

  it('a retracted consent is not listed, and can be recorded again', async () => {
    const consent = { text: 'May we write to you?', at: '2024-05-31T12:00:00.000Z' };
    const agreed = { ...own.person(), subscribed: true, consent };
    const { contactId } = await own.ask('contact.create-contact', agreed);
    const consents = async () =>
      (await own.ask('contact.list-consents', { contactId })).map(({ text }: { text: string }) => text);
    expect(await consents()).toEqual([consent.text]);
    const [recorded] = await own.ask('history.list-events', { type: 'ConsentRecorded' });
    await write('consent', recorded.recordId, contactId, { type: 'ConsentRetracted', data: {} });
    expect(await consents()).toEqual([null]);
    const exported = (await own.send('contact.export-person', { contactId })).body;
    expect(exported.consents).toMatchObject([{ text: null }]);

    const again = { contactId, subscribed: true, consent };
    await own.ask('contact.update-contact', again);
    await own.ask('contact.update-contact', again);
    expect(await consents()).toEqual([consent.text, null]);
  });
});

it('no projection has stopped, and each matches a rebuild', async () => {
  const { projections: readModels } = api.instances[0]!.runtime;
  // Projections that no command waited for follow within half a second.
  await readModels.catchUpWithLog();
  for (const { name, failure, lag } of await readModels.status()) {
    expect({ name, failure, lag }).toEqual({ name, failure: null, lag: 0 });
    expect({ [name]: await differencesIn(readModels, name) }).toEqual({ [name]: [] });
  }
});
