import { type Cast, type DomainEvent, EventStore, type Upcasters } from '#libs/event-store';
import { projections, streams, upcasters } from '../src/modules.js';
import { csv, Fixture } from './fixture.js';
import { Api, Client, differencesIn } from './harness.js';
import { type Made, RECORD_KINDS, type RecordKind } from './record-kinds.js';
import { verifyTwice } from './verifiers.js';
import { someOf } from './length.js';

/**
 * Events that a later version of this program wrote, by its own event store into the streams of every kind: of a type
 * that nobody here knows, and every type in a shape that nobody here knows.
 */
let api: Api;
let later: EventStore;
let own: Fixture;
let other: Fixture;
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
  other = new Fixture(api, await api.organization());
});
afterAll(() => api.stop());

/** Streams of which an organization has one, or has to wait for the first: after each such event it needs another. */
const ONE_EACH = [
  ...['organization', 'sender', 'public-log', 'history-access', 'history-reads', 'signing-key'],
  'petition-goal',
];

const hasOrganization = (hook: typeof beforeAll) =>
  hook(async () => {
    own = new Fixture(api, await api.organization());
  });

const UNKNOWN = 'WrittenTomorrow';

/** Stores an event as a later version would, and waits for the read models as its command would. */
async function append(
  streamType: string,
  streamId: string,
  event: DomainEvent | DomainEvent[],
  store: EventStore = later,
) {
  const { organizationId } = own;
  const before = await api.database.source.query(
    'SELECT max(version) AS version FROM events WHERE organization_id = $1 AND stream_id = $2',
    [organizationId, streamId],
  );
  const expectedVersion = before[0].version as number;
  const metadata = { actor: { type: 'system', id: null }, requestId: 'later' } as const;
  const writes = [{ streamType, streamId, expectedVersion, events: [event].flat() }];
  const result = await store.append({ organizationId, metadata, writes });
  expect(result.status).toBe('appended');
  await api.instances[0]!.runtime.projections.catchUp(await later.lastPosition());
}

/** What is decided on a record is refused for this reason. */
async function expectRefused(kind: RecordKind, made: Made, reason: string): Promise<void> {
  if (kind.decide === 'none') return;
  expect(await kind.decide(own, made)).toMatchObject(refusalFor(reason));
}

const refusalFor = (reason: string) => ({ status: 503, body: { error: { reason } } });
const refusal = refusalFor('NEWER_VERSION');

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
    const kind = RECORD_KINDS[streamType]!;
    hasOrganization(ONE_EACH.includes(streamType) ? beforeEach : beforeAll);

    it('an event of an unknown type is left out where the record is shown, and nothing is decided on it', async () => {
      const made = await kind.make(own);
      const before = await kind.show(own, made);
      await append(streamType, made.id, { type: UNKNOWN, data: { what: 'ever' } });

      const shown = await kind.show(own, made);
      expect(shown.status).toBe(200);
      if (kind.showsItself) expect(shown.body).toEqual(before.body);
      await expectRefused(kind, made, 'NEWER_VERSION');

      if (!kind.next) return;
      await append(streamType, made.id, kind.next);
      // Whose row has gone on without the event is still not decided on.
      await expectRefused(kind, made, 'NEWER_VERSION');
    });

    it('an event that somebody has put there, whose data are no object, is left out, listed and stops nobody', async () => {
      const made = await kind.make(own);
      const before = await kind.show(own, made);
      const { source, store } = api.instances[0]!.runtime;
      const somebody = new EventStore(source, store.keyring);
      const data = ['a text', null, 7, ['a list']];
      const damaging = data.map((one) => ({ type: types.at(-1)!, data: one as never }));
      await append(streamType, made.id, damaging, somebody);
      const shown = await kind.show(own, made);
      expect(shown.status).toBe(200);
      if (kind.showsItself) expect(shown.body).toEqual(before.body);
      const asOf = '9999-01-01T00:00:00Z';
      for (const operation of kind.past?.shownBy ?? [])
        await own.ask(operation, { [kind.past!.idField]: made.id, asOf });
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

    it.each(someOf(types))('%s in an unknown shape stops nobody, and is not guessed', async (type) => {
      const made = await kind.make(own);
      await append(streamType, made.id, { type, data: { what: 'ever' } });

      const shown = await kind.show(own, made);
      if (kind.showsItself) expect(shown).toMatchObject(refusal);
      else expect(shown.status).toBe(200);
      await expectRefused(kind, made, 'NEWER_VERSION');
    });

    it('after all of that a record in another organization is created and shown as ever', async () => {
      const made = await kind.make(other);
      expect((await kind.show(other, made)).status).toBe(200);
    });
  },
);

describe('one record', () => {
  hasOrganization(beforeEach);

  it('a known event after an unknown one is taken in, also an erasure', async () => {
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

  it('a key of which a later version wrote an unknown event opens nothing', async () => {
    const { id, key } = await api.createKey(own.organizationId);
    await append('api-key', id, { type: 'ApiKeyRevoked', data: {} });
    const by = new Client(api.origin, own.organizationId, key);
    expect(await own.send('list.list-lists', {}, { by })).toMatchObject(refusal);
  });

  it('the history is listed, exported, proved and past records are shown, whatever it has', async () => {
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

  it('an import leaves out the line of a contact that it cannot read, and imports the others', async () => {
    const { email } = own.person();
    const { contactId } = await own.ask('contact.create-contact', { email });
    await append('contact', contactId, { type: 'ContactUpdated', data: {} });
    const lines = csv('email,city', `${email},Accra`, `${own.person().email},Accra`);
    const imported = await own.ask('contact.import-contacts', { ...lines, onConflict: 'update' });
    expect(imported).toMatchObject({ created: 1, failed: [{ line: 2 }] });
  });
});

it('no read model has stopped, and each is what a rebuild makes of the same history', async () => {
  const { projections: readModels } = api.instances[0]!.runtime;
  // Those that nobody waited for follow within half a second.
  await readModels.catchUpWithLog();
  for (const { name, failure, lag } of await readModels.status()) {
    expect({ name, failure, lag }).toEqual({ name, failure: null, lag: 0 });
    expect({ [name]: await differencesIn(readModels, name) }).toEqual({ [name]: [] });
  }
});
