import { v7 as uuidv7 } from 'uuid';
import { RecordReader } from '#libs/commands';
import { type Decider, type DomainEvent, fold, type RecordedEvent } from '#libs/event-store';
import { Projections, schemaOf } from '#libs/projections';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { projections as readModels } from '../src/modules.js';
import { apiKey } from '../src/auth/index.js';
import { broadcast } from '../src/broadcasts/index.js';
import { contact } from '../src/contacts/index.js';
import { image } from '../src/images/index.js';
import { list } from '../src/lists/index.js';
import { organization, publicLog, sender } from '../src/organizations/index.js';
import { invalidation, petition } from '../src/petitions/index.js';
import { post } from '../src/posts/index.js';
import { tag } from '../src/tags/index.js';
import { member } from '../src/team/index.js';
import { webhook } from '../src/webhooks/index.js';

/** Loading by the read model's row must be loading by the history, whatever happened and however far the row is. */

const silent = { log: jest.fn(), warn: jest.fn(), error: jest.fn() };
const metadata = { actor: { type: 'system', id: null }, requestId: 'test' } as const;
const organizationId = uuidv7();

let database: TestDatabase;
let projections: Projections;
let records: RecordReader;
beforeAll(async () => {
  database = await createTestDatabase();
  projections = new Projections(database.source, database.store, readModels, silent);
  await projections.start();
  records = new RecordReader(database.store, projections);
});
afterAll(() => database.drop());

const pick = <One>(of: readonly One[]): One => of[Math.floor(Math.random() * of.length)]!;
const content = () =>
  pick([null, 'x', { a: [1, 1e300, -0.5, { 'ä"\\': '\u0001 €' }] }, [], false, 'y'.repeat(9_000)]);
const fields = { title: 'A', goal: 5, target: null, description: 'Ω', ask: null, imageId: null };
const variant = { name: '8.jpg', type: 'image/jpeg', width: 8, height: 8, bytes: 99 };
const word = () => pick(['a', 'b', null]);
const invalidated = () => ({
  petitionId: uuidv7(),
  signatureIds: pick([[], [uuidv7()], [uuidv7(), uuidv7()]]),
  isLast: pick([true, false]),
});

type Kind = { decider: Decider<any, any>; first: () => DomainEvent; next: () => DomainEvent; subject?: true };
const kinds: { [name: string]: Kind } = {
  petition: {
    decider: petition,
    first: () => ({ type: 'PetitionCreated', data: { name: 'A', ...fields, content: content() } }),
    next: () =>
      pick<() => DomainEvent>([
        () => ({ type: 'PetitionUpdated', data: { content: content() } }),
        () => ({ type: 'PetitionUpdated', data: { title: word(), goal: 7 } }),
        () => ({ type: 'PetitionPublished', data: {} }),
        () => ({ type: 'PetitionClosed', data: {} }),
        () => ({ type: pick(['PetitionDeleted', 'PetitionPublished']), data: {} }),
      ])(),
  },
  'signature-invalidation': {
    decider: invalidation,
    first: () => ({
      type: 'SignaturesInvalidated',
      data: { ...invalidated(), condition: pick([null, { emailDomain: 'a.example' }]), upTo: 7, matched: 9 },
    }),
    next: () => ({ type: pick(['SignaturesInvalidated', 'SignaturesRestored']), data: invalidated() }),
  },
  post: {
    decider: post,
    first: () => ({ type: 'PostCreated', data: { name: 'A', ...fields, content: content() } }),
    next: () =>
      pick<() => DomainEvent>([
        () => ({ type: 'PostUpdated', data: { content: content(), name: 'B' } }),
        () => ({ type: 'PostPublished', data: {} }),
        () => ({ type: 'PostArchived', data: {} }),
        () => ({ type: pick(['PostDeleted', 'PostPublished']), data: {} }),
      ])(),
  },
  broadcast: {
    decider: broadcast,
    first: () => ({
      type: 'BroadcastCreated',
      data: {
        name: 'A',
        subject: 'Ω',
        preheader: word(),
        content: 'x',
        format: 'HTML',
        audience: { listIds: ['a'] },
      },
    }),
    next: () =>
      pick<() => DomainEvent>([
        () => ({ type: 'BroadcastUpdated', data: { content: pick(['', 'y'.repeat(9_000)]), subject: 'B' } }),
        () => ({ type: 'BroadcastScheduled', data: { sendAt: '2030-01-01T00:00:00.000Z' } }),
        () => ({
          type: 'BroadcastStarted',
          data: { sendingId: uuidv7(), position: 1, recipients: 2, digest: 'd' },
        }),
        () => ({ type: 'BroadcastRetried', data: { status: 'FAILED' } }),
        () => ({ type: 'BroadcastSent', data: { sent: 1, failed: 1, skipped: 0, inDoubt: 0 } }),
        () => ({
          type: pick(['BroadcastPaused', 'BroadcastResumed', 'BroadcastCancelled', 'BroadcastDeleted']),
          data: {},
        }),
      ])(),
  },
  image: {
    decider: image,
    first: () => ({
      type: 'ImageUploaded',
      data: { name: 'A', alt: word(), hash: 'a'.repeat(64), variants: [variant] },
    }),
    next: () =>
      pick<() => DomainEvent>([
        () => ({ type: 'ImageUpdated', data: { name: 'B', alt: word() } }),
        () => ({ type: 'ImageDeleted', data: { hash: 'a'.repeat(64) } }),
      ])(),
  },
  member: {
    decider: member,
    first: () => ({
      type: 'MemberInvited',
      data: { userId: uuidv7(), role: pick(['OWNER', 'VIEWER']) },
    }),
    next: () =>
      pick<() => DomainEvent>([
        () => ({ type: 'InvitationRenewed', data: { role: 'EDITOR' } }),
        () => ({ type: 'InvitationAccepted', data: {} }),
        () => ({ type: 'MemberRoleChanged', data: { role: 'ADMIN' } }),
        () => ({ type: pick(['InvitationRevoked', 'MemberRemoved', 'InvitationAccepted']), data: {} }),
      ])(),
  },
  list: {
    decider: list,
    first: () => ({ type: 'ListCreated', data: { name: 'A', description: word() } }),
    next: () => ({
      type: pick(['ListUpdated', 'ListUpdated', 'ListUpdated', 'ListDeleted']),
      data: { name: word() },
    }),
  },
  tag: {
    decider: tag,
    first: () => ({ type: 'TagCreated', data: { name: 'A', description: word() } }),
    next: () => ({ type: pick(['TagUpdated', 'TagUpdated', 'TagDeleted']), data: { name: word() } }),
  },
  webhook: {
    decider: webhook,
    first: () => ({
      type: 'WebhookCreated',
      data: { url: word(), description: word(), eventTypes: null, personalData: true },
    }),
    next: () => ({
      type: pick([
        'WebhookUpdated',
        'WebhookPaused',
        'WebhookResumed',
        'WebhookSecretRotated',
        'WebhookDeleted',
      ]),
      data: { url: word(), overlapSeconds: 60 },
    }),
  },
  'api-key': {
    decider: apiKey,
    first: () => ({
      type: 'ApiKeyCreated',
      data: {
        name: 'A',
        publicId: 'abcdefgh',
        secretHash: '00',
        scopes: ['*'],
        rateLimit: 5,
        expiresAt: null,
      },
    }),
    next: () =>
      pick<() => DomainEvent>([
        () => ({ type: 'ApiKeyRotated', data: { successorId: uuidv7(), overlapSeconds: 9 } }),
        () => ({ type: 'ApiKeyRevoked', data: {} }),
      ])(),
  },
  organization: {
    decider: organization,
    first: () => ({ type: 'OrganizationCreated', data: { name: 'A' } }),
    next: () => ({ type: 'OrganizationUpdated', data: { website: word(), email: word() } }),
  },
  'public-log': {
    decider: publicLog,
    first: () => ({ type: 'LogPublished', data: {} }),
    next: () => ({ type: pick(['LogPublished', 'LogUnpublished']), data: {} }),
  },
  sender: {
    decider: sender,
    first: () => ({ type: 'SenderUpdated', data: { language: 'de' } }),
    next: () => ({ type: 'SenderUpdated', data: { replyTo: word(), postalAddress: word() } }),
  },
  contact: {
    decider: contact,
    subject: true,
    first: () => ({
      type: 'ContactCreated',
      data: { subscribed: true },
      personal: { email: 'a', city: word() },
    }),
    next: () =>
      pick<() => DomainEvent>([
        () => ({ type: 'ContactUpdated', data: {}, personal: { email: word(), bio: word() } }),
        () => ({ type: pick(['ContactSubscribed', 'ContactUnsubscribed']), data: {} }),
        () => ({ type: Math.random() < 0.2 ? 'ContactErased' : 'ContactSubscribed', data: {} }),
      ])(),
  },
};

async function append(kind: Kind, streamId: string, expectedVersion: number, events: DomainEvent[]) {
  const erases = events.some(({ type }) => type === 'ContactErased') ? [streamId] : [];
  const subject = kind.subject ? { subjectId: streamId } : {};
  const streamType = kind.decider.streamType;
  const result = await database.store.append({
    organizationId,
    metadata,
    writes: [{ streamType, streamId, expectedVersion, events, ...subject }],
    erases,
  });
  expect(result.status).toBe('appended');
}

describe.each(Object.entries(kinds))('%s', (_, kind) => {
  it('is loaded as its history has it, now and at any version, while the read model lags or not', async () => {
    const streams = new Map(Array.from({ length: 6 }, () => [uuidv7(), 0]));
    const erased = new Set<string>();
    for (let round = 0; round < 9; round += 1) {
      for (const [id, version] of streams) {
        if (erased.has(id)) continue;
        const count = pick([0, 1, 1, 2, 9, 25]);
        const events = Array.from({ length: count }, (_unused, n) =>
          version + n === 0 ? kind.first() : kind.next(),
        );
        const end = events.findIndex(({ type }) => type === 'ContactErased');
        if (end >= 0) {
          events.splice(end + 1);
          erased.add(id);
        }
        if (events.length > 0) await append(kind, id, version, events);
        streams.set(id, version + events.length);
      }
      if (round % 3 === 1) await projections.catchUp(await database.store.lastPosition());

      const many = await records.loadMany(kind.decider, organizationId, [...streams.keys()]);
      for (const [id, version] of streams) {
        const history: RecordedEvent<any>[] = await database.store.readStream(organizationId, id);
        const expected = fold(kind.decider, history);
        expect(expected.version).toBe(version);
        expect(await records.load(kind.decider, organizationId, id)).toEqual(expected);
        expect(many.get(id)).toEqual(expected);
        const earlier = Math.floor(Math.random() * (version + 1));
        expect(await records.look(kind.decider, organizationId, id, { version: earlier })).toEqual(
          fold(kind.decider, history.slice(0, earlier)),
        );
      }
    }
    const [foreign] = Object.values(kinds).filter((other) => other !== kind);
    for (const id of streams.keys()) {
      expect((await records.load(foreign!.decider, organizationId, id)).version).toBe(0);
      expect((await records.load(kind.decider, uuidv7(), id)).version).toBe(0);
    }
  });
});

const loaded = readModels.filter(({ snapshots }) => snapshots);

it('every kind of record that is loaded by a row is tried', () => {
  const streamTypes = loaded.map(({ snapshots }) => snapshots!.streamType);
  expect(Object.keys(kinds).toSorted()).toEqual(streamTypes.toSorted());
});

it.each(loaded.map(({ name }) => name))('rebuilt, %s are what they became event by event', async (name) => {
  await projections.catchUp(await database.store.lastPosition());
  expect(await projections.maintenance.verify(name)).toEqual([]);
});

describe('a stream of 10,000 events', () => {
  /** Rows and bytes that PostgreSQL answered. */
  async function answered(
    work: () => Promise<unknown>,
  ): Promise<{ rows: number; bytes: number; statements: number }> {
    const query = jest.spyOn(database.source, 'query');
    await work();
    const answers: unknown[][] = await Promise.all(query.mock.results.map(({ value }) => value));
    query.mockRestore();
    return {
      statements: answers.length,
      rows: answers.reduce((sum, rows) => sum + rows.length, 0),
      bytes: JSON.stringify(answers).length,
    };
  }

  it.each(['petition', 'organization'])('costs a %s no more than a short one', async (name) => {
    const kind = kinds[name]!;
    const id = uuidv7();
    await append(kind, id, 0, [kind.first()]);
    const change = (n: number): DomainEvent =>
      name === 'petition'
        ? { type: 'PetitionUpdated', data: { content: 'x'.repeat(2_000), goal: n } }
        : { type: 'OrganizationUpdated', data: { website: String(n) } };
    for (let version = 1; version < 10_000; version += 1_111) {
      await append(
        kind,
        id,
        version,
        Array.from({ length: 1_111 }, (_, n) => change(version + n)),
      );
    }
    await projections.catchUp(await database.store.lastPosition());
    const expected = { version: 10_000 };
    const load = async () =>
      expect(await records.load(kind.decider, organizationId, id)).toMatchObject(expected);
    expect(await answered(load)).toMatchObject({ statements: 1, rows: 1 });

    if (name !== 'petition') return;
    await append(kind, id, 10_000, [{ type: 'PetitionDeleted', data: {} }]);
    await projections.catchUp(await database.store.lastPosition());
    const gone = async () =>
      expect((await records.load(petition, organizationId, id)).state).toEqual({ status: 'DELETED' });
    const { bytes, ...cost } = await answered(gone);
    expect(cost).toEqual({ statements: 1, rows: 1 });
    expect(bytes).toBeLessThan(2_000);
  });

  it('is loaded whole where the read model cannot be read', async () => {
    const id = uuidv7();
    await append(kinds.list!, id, 0, [{ type: 'ListCreated', data: { name: '0', description: 'd' } }]);
    for (let version = 1; version < 2_001; version += 500) {
      const events = Array.from({ length: 500 }, (_, n) => ({
        type: 'ListUpdated',
        data: { name: String(version + n) },
      }));
      await append(kinds.list!, id, version, events);
    }
    const schema = schemaOf(readModels.find(({ name }) => name === 'lists')!);
    await database.source.query(`ALTER SCHEMA ${schema} RENAME TO away`);
    const { state, version } = await records.load(list, organizationId, id);
    await database.source.query(`ALTER SCHEMA away RENAME TO ${schema}`);
    expect([state, version]).toEqual([{ status: 'standing', name: '2000', description: 'd' }, 2_001]);
  });
});
