import { Api, Client } from './harness.js';
import { verifyTwice } from './verifiers.js';

/** PostgreSQL looks for functions in `clock` before its own: so the test sets the clock that events are recorded by. */
const CLOCK = `
  CREATE SCHEMA clock;
  CREATE TABLE clock.set (off interval NOT NULL);
  INSERT INTO clock.set VALUES ('0');
  CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT pg_catalog.clock_timestamp() + (SELECT off FROM clock.set)';
  CREATE FUNCTION clock.statement_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT pg_catalog.clock_timestamp() + (SELECT off FROM clock.set)'`;

let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start();
  await api.database.source.query(CLOCK);
  const name = new URL(api.database.url).pathname.slice(1);
  await api.database.source.query(`ALTER DATABASE ${name} SET search_path = clock, pg_catalog, public`);
  const { origin } = await api.addInstance();
  client = (await api.organization()).at(origin);
});
afterAll(() => api.stop());
beforeEach(() => setClock('0'));

const setClock = (off: string) => api.database.source.query('UPDATE clock.set SET off = $1', [off]);

const post = async (operation: string, body: object) => (await client.post(operation, body)).body.data;

it('a record changed after the clock was set back is read whole, now and as of every moment', async () => {
  const { petitionId } = await post('petition.create-petition', { name: 'River' });
  await post('petition.publish-petition', { petitionId });
  const { contactId } = await post('contact.create-contact', {
    organizationId: client.organizationId,
    email: 'ada@example.org',
  });
  const published = (await client.get('petition.get-petition', { petitionId })).body.data;
  await setClock('-1 hour');
  await post('petition.add-signature', { petitionId, contactId });
  await post('petition.update-petition', { petitionId, goal: 7 });
  const updated = (await client.get('petition.get-petition', { petitionId })).body.data;
  expect(updated).toMatchObject({ goal: 7, signatures: 1, updatedAt: published.updatedAt });
  await setClock('1 hour');
  await post('petition.close-petition', { petitionId });
  const closed = (await client.get('petition.get-petition', { petitionId })).body.data;

  const asOf = async (moment: string) =>
    (await client.get('petition.get-petition', { petitionId, asOf: moment })).body.data;
  expect(await asOf(updated.updatedAt)).toEqual(updated);
  expect(await asOf(closed.updatedAt)).toEqual(closed);
  const between = new Date(new Date(closed.updatedAt).getTime() - 1).toISOString();
  expect(await asOf(between)).toEqual(updated);

  const { data: events } = (await client.get('event.list-events', { recordId: petitionId, limit: '1000' }))
    .body;
  const times = events.map(({ occurredAt }: { occurredAt: string }) => occurredAt);
  expect(times).toEqual(times.toSorted());
});

it('a key that is revoked, or replaced at once, after the clock was set back is refused at once', async () => {
  const revoked = await api.createKey(client.organizationId);
  const replaced = await api.createKey(client.organizationId);
  await setClock('-1 hour');
  await client.delete('api-key.revoke-api-key', { apiKeyId: revoked.id });
  await post('api-key.rotate-api-key', { apiKeyId: replaced.id, overlapSeconds: 0 });
  for (const { key } of [revoked, replaced])
    expect((await new Client(client.origin, '', key).get('organization.get-organization')).status).toBe(401);
});

it('the history is exported and proved', async () => {
  await setClock('-1 day');
  await post('list.create-list', { name: 'Earlier' });
  const { checkpoint } = (await client.get('event.get-checkpoint')).body.data;
  const exported = (await client.get('event.export-events')).body;
  const { signers } = api.instances[0]!.runtime;
  const verdict = await verifyTwice(exported, checkpoint, signers.verifierKey);
  expect(verdict).toMatchObject({ ok: true, firstWrongPosition: null });
});
