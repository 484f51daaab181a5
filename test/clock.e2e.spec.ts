import { DatabaseClock } from './database-clock.js';
import { Api, Client } from './harness.js';
import { verifyTwice } from './verifiers.js';

let api: Api;
let client: Client;
let clock: DatabaseClock;
beforeAll(async () => {
  api = await Api.start();
  clock = await DatabaseClock.of(api.database);
  const { origin } = await api.addInstance();
  client = (await api.organization()).at(origin);
});
afterAll(() => api.stop());
beforeEach(() => clock.set('0'));

const post = async (operation: string, body: object) => (await client.post(operation, body)).body.data;

it('a record changed after the clock was set back is returned in full, now and as of every time', async () => {
  const { petitionId } = await post('petition.create-petition', { name: 'River' });
  await post('petition.publish-petition', { petitionId });
  const { contactId } = await post('contact.create-contact', {
    organizationId: client.organizationId,
    email: 'ada@example.org',
  });
  const published = (await client.get('petition.get-petition', { petitionId })).body.data;
  await clock.set('-1 hour');
  await post('petition.add-signature', { petitionId, contactId });
  await post('petition.update-petition', { petitionId, goal: 7 });
  const updated = (await client.get('petition.get-petition', { petitionId })).body.data;
  expect(updated).toMatchObject({ goal: 7, signatures: 1, updatedAt: published.updatedAt });
  await clock.set('1 hour');
  await post('petition.close-petition', { petitionId });
  const closed = (await client.get('petition.get-petition', { petitionId })).body.data;

  const asOf = async (moment: string) =>
    (await client.get('petition.get-petition', { petitionId, asOf: moment })).body.data;
  expect(await asOf(updated.updatedAt)).toEqual(updated);
  expect(await asOf(closed.updatedAt)).toEqual(closed);
  const between = new Date(new Date(closed.updatedAt).getTime() - 1).toISOString();
  expect(await asOf(between)).toEqual(updated);

  const { data: events } = (await client.get('history.list-events', { recordId: petitionId, limit: '1000' }))
    .body;
  const times = events.map(({ occurredAt }: { occurredAt: string }) => occurredAt);
  expect(times).toEqual(times.toSorted());
});

it('rejects a key immediately if it was revoked or replaced after the clock was set back', async () => {
  const revoked = await api.createKey(client.organizationId);
  const replaced = await api.createKey(client.organizationId);
  await clock.set('-1 hour');
  await client.delete('api-key.revoke-api-key', { apiKeyId: revoked.id });
  await post('api-key.rotate-api-key', { apiKeyId: replaced.id, overlapSeconds: 0 });
  for (const { key } of [revoked, replaced])
    expect((await new Client(client.origin, '', key).get('organization.get-organization')).status).toBe(401);
});

it('the history is exported and verified', async () => {
  await clock.set('-1 day');
  await post('list.create-list', { name: 'Earlier' });
  const { checkpoint } = (await client.get('history.get-checkpoint')).body.data;
  const exported = (await client.get('history.export-events')).body;
  const { signers } = api.instances[0]!.runtime;
  const verdict = await verifyTwice(exported, checkpoint, signers.verifierKey);
  expect(verdict).toMatchObject({ ok: true, firstWrongPosition: null });
});
