import { EventStore, type StreamWrite } from '#libs/event-store';
import { upcasters } from '../src/modules.js';
import { Fixture } from './fixture.js';
import { command } from './commands.js';
import { Api, differencesIn } from './harness.js';
import { ENCRYPTION_KEY } from './processes.js';

/**
 * Contacts that were merged into another one, written by an event store as the next release does. This release must read them.
 */
let api: Api;
let own: Fixture;
let later: EventStore;
beforeAll(async () => {
  api = await Api.start();
  own = new Fixture(api, await api.organization());
  const { source, store } = api.instances[0]!.runtime;
  const written = Object.entries(upcasters).filter(([, { writes }]) => writes !== 'not yet');
  later = new EventStore(source, store.keyring, Object.fromEntries(written));
});
afterAll(() => api.stop());

type Merged = {
  survivor: string;
  duplicate: string;
  emails: string[];
  signatureId: string;
  petitionId: string;
};

/** Signs a petition as a contact, and merges that contact into another one. */
async function merge(): Promise<Merged> {
  const { organizationId } = own;
  const [kept, gone] = [own.person(), own.person()];
  const { contactId: survivor } = await own.ask('contact.create-contact', kept);
  const { contactId: duplicate } = await own.ask('contact.create-contact', gone);
  const { petitionId } = await own.a('petition');
  const signing = { petitionId, contactId: duplicate, comment: 'Save the river' };
  const { signatureId } = await own.ask('petition.add-signature', signing);
  const write = (streamType: string, streamId: string, subjectId: string, expectedVersion: number) => {
    return (...events: StreamWrite['events']) => ({
      streamType,
      streamId,
      subjectId,
      expectedVersion,
      events,
    });
  };
  const duplicates = [{ contactId: duplicate, emails: [gone.email], record: gone }];
  const data = { petitionId: petitionId!, contactId: survivor, from: duplicate };
  const key = (contactId: string) => later.keyring.hash('petition.signature', petitionId!, contactId);
  const result = await later.append({
    organizationId,
    metadata: { actor: { type: 'system', id: null }, requestId: 'merge' },
    writes: [
      write(
        'signature',
        signatureId,
        survivor,
        1,
      )({
        type: 'SignatureMoved',
        data,
        personal: { comment: 'Save the river' },
      }),
      write(
        'contact',
        survivor,
        survivor,
        1,
      )({
        type: 'DuplicatesMerged',
        data: { contactIds: [duplicate] },
        personal: { duplicates },
      }),
      write(
        'contact',
        duplicate,
        duplicate,
        1,
      )({ type: 'ContactMerged', data: { into: survivor } }, { type: 'ContactErased', data: {} }),
    ],
    claims: [{ key: key(survivor), streamId: signatureId }],
    releases: [{ key: key(duplicate), streamId: signatureId }],
    erases: [duplicate],
  });
  expect(result.status).toBe('appended');
  await api.instances[0]!.runtime.projections.catchUp(await later.lastPosition());
  return { survivor, duplicate, emails: [kept.email, gone.email], signatureId, petitionId: petitionId! };
}

it('a signature that was moved belongs to the survivor, keeps its comment, and is counted once', async () => {
  const { survivor, duplicate, signatureId, petitionId } = await merge();
  for (const operation of ['contact.get-contact', 'contact.update-contact', 'contact.delete-contact']) {
    const { status, body } = await own.send(operation, { contactId: duplicate });
    expect([operation, status, body.error.message]).toEqual([
      operation,
      404,
      expect.stringContaining(survivor),
    ]);
  }
  const [signature, ...others] = await own.ask('petition.list-signatures', { petitionId });
  expect(others).toEqual([]);
  expect(signature).toMatchObject({ id: signatureId, contactId: survivor, comment: 'Save the river' });
  // The survivor has signed already.
  const again = await own.ask('petition.add-signature', { petitionId, contactId: survivor });
  expect(again).toMatchObject({ signatureId, signatures: 1 });
  const removed = await own.ask('petition.remove-signature', { petitionId, contactId: survivor });
  expect(removed).toMatchObject({ signatureId, signatures: 0 });
  expect(await differencesIn(api.instances[0]!.runtime.projections, 'petitions')).toEqual([]);
  expect(await differencesIn(api.instances[0]!.runtime.projections, 'contacts')).toEqual([]);
});

it('the list of erasures contains a merged contact only once its survivor is erased', async () => {
  const [erased, kept] = [await merge(), await merge()];
  await own.ask('contact.delete-contact', { contactId: erased.survivor });
  const { stdout } = await command(['--json', 'erasures', 'list'], {
    DATABASE_URL: api.database.url,
    ENCRYPTION_KEY: ENCRYPTION_KEY.toString('base64'),
  });
  const listed = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).contactId as string);
  expect(listed).toEqual(expect.arrayContaining([erased.survivor, erased.duplicate]));
  expect(listed).not.toContain(kept.duplicate);
});

it('no one signs as a merged contact', async () => {
  const { duplicate } = await merge();
  const { petitionId } = await own.a('petition');
  const signed = await own.send('petition.add-signature', { petitionId, contactId: duplicate });
  expect(signed).toMatchObject({ status: 404, body: { error: { code: 'NOT_FOUND' } } });
});

it('deleting the survivor erases what it received, and addresses of the merged contacts', async () => {
  const { survivor, signatureId, petitionId, emails } = await merge();
  await own.ask('suppression.create-suppression', { email: emails[1] });
  await own.ask('contact.delete-contact', { contactId: survivor });
  const [signature] = await own.ask('petition.list-signatures', { petitionId });
  expect(signature).toMatchObject({ id: signatureId, contactId: null, comment: null });
  const suppressions = await own.ask('suppression.list-suppressions');
  expect(JSON.stringify(suppressions)).not.toContain(emails[1]);
  const events = await own.ask('history.list-events', { recordId: survivor });
  expect(events.map(({ type }: { type: string }) => type)).toEqual([
    'ContactCreated',
    'DuplicatesMerged',
    'ContactErased',
  ]);
  expect(JSON.stringify(events)).not.toContain(emails[1]);
});
