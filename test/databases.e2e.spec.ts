import { catalogOf } from '#libs/testing';
import { projections } from '../src/modules.js';
import { verifyDatabase } from '../src/audit/index.js';
import { Api, Client, differencesIn } from './harness.js';
import { someOf } from './length.js';
import { before } from './releases.js';
import {
  dumpOf,
  expectAnswers,
  makeDatabase,
  type StoredDatabase,
  storedDatabases,
} from './stored-databases.js';

const { MAKE_DATABASE = '' } = process.env;
const wanted = MAKE_DATABASE.split(',').filter((text) => text !== '');

/** `append_events` of the first versions, for their instances that still serve next to new ones. */
const REMAINS = /^function append_events\((?!.*\br_stream )/;

const schemas = [
  'public',
  ...projections.map(({ name, version }) => `${name.replaceAll('-', '_')}_v${version}`),
];

async function catalog({ database }: Api): Promise<{ [schema: string]: string[] }> {
  const found: { [schema: string]: string[] } = {};
  for (const schema of schemas) {
    found[schema] = (await catalogOf(database.source, schema)).filter((line) => !REMAINS.test(line));
  }
  return found;
}

if (wanted.length > 0) {
  it.each(wanted)('%s: stores its database', (one) => {
    const [version, commit = version] = one.split('=');
    return makeDatabase({ version: version!, commit: commit! });
  });
} else {
  describe.each(tried())('a database of $version', (stored) => goesOn(stored));
}

/** The database of the previous version first. */
function tried(): readonly StoredDatabase[] {
  const all = storedDatabases();
  const last = all.find(({ version }) => version === before.version)!;
  return someOf([last, ...all.filter((one) => one !== last)]);
}

let fresh: { [schema: string]: string[] };
beforeAll(async () => {
  if (wanted.length > 0) return;
  const api = await Api.start();
  fresh = await catalog(api);
  await api.stop();
});

function goesOn(stored: StoredDatabase): void {
  const { organizationId, key, petitionId, listId, contactId, repeatable, erasedContactId } = stored;
  let api: Api;
  let client: Client;
  beforeAll(async () => {
    api = await Api.start({ dump: dumpOf(stored) });
    client = new Client(api.origin, organizationId, key);
  });
  afterAll(() => api.stop());

  it('has the schema of a new one', async () => {
    expect(await catalog(api)).toEqual(fresh);
  });

  it('returns what its own version returned', () => expectAnswers(stored, client));

  it('accepts writes of every service, counts, and erases', async () => {
    const ask = async (method: 'post' | 'delete', operation: string, body: object, headers = {}) => {
      const answer = await client[method](operation, { organizationId, ...body }, headers);
      expect([operation, answer.status, answer.body]).toEqual([
        operation,
        200,
        expect.objectContaining({ data: expect.anything() }),
      ]);
      return answer.body.data;
    };
    const get = (operation: string, query: { [name: string]: string }) =>
      client.get(operation, { organizationId, ...query });
    const { email } = repeatable;
    const person = {
      email,
      firstName: 'Ada',
      lastName: 'Example',
      city: 'Bonn',
      phone: '+49 228 1',
      bio: 'I am Ada',
    };
    const repeated = await client.post(
      'contact.create-contact',
      { organizationId, ...person },
      { 'Idempotency-Key': 'stored-Ada' },
    );
    expect(repeated).toMatchObject({ status: 200, body: { data: { contactId: repeatable.contactId } } });
    const twin = await client.post('contact.create-contact', {
      organizationId,
      ...person,
      firstName: 'Augusta',
    });
    expect(twin).toMatchObject({ status: 409, body: { error: { reason: 'EMAIL_TAKEN' } } });
    expect((await get('contact.get-contact', { contactId: erasedContactId })).status).toBe(404);
    const { contactId: added } = await ask('post', 'contact.create-contact', {
      email: 'new@example.org',
      firstName: 'New',
    });
    await ask('post', 'contact.update-contact', { contactId, city: 'Nairobi' });

    const { postId } = await ask('post', 'post.create-post', { name: 'Written now' });
    await ask('post', 'post.publish-post', { postId });
    await ask('post', 'organization.update-organization', { name: 'Upgraded' });
    const made = await ask('post', 'api-key.create-api-key', { name: 'Now', scopes: ['contact:read'] });
    await ask('delete', 'api-key.revoke-api-key', { apiKeyId: made.apiKeyId });

    const counts = async () => {
      const { signatures } = (await get('petition.get-petition', { petitionId })).body.data;
      const { contacts } = (await get('list.get-list', { listId })).body.data;
      return { signatures, contacts };
    };
    const before = await counts();
    await ask('post', 'petition.add-signature', { petitionId, contactId: added, comment: 'Now' });
    await ask('post', 'petition.add-signature', { petitionId, contactId: repeatable.contactId });
    await ask('post', 'list.add-contacts', { listId, contactIds: [added, contactId] });
    await ask('delete', 'petition.remove-signature', { petitionId, contactId: added });
    // Ada had signed before.
    expect(await counts()).toEqual({ signatures: before.signatures, contacts: before.contacts + 2 });

    // An erasure removes the contact from lists, and keeps the signature without its name.
    await ask('delete', 'contact.delete-contact', { contactId: added });
    await ask('delete', 'contact.delete-contact', { contactId: repeatable.contactId });
    expect((await get('contact.get-contact', { contactId: repeatable.contactId })).status).toBe(404);
    expect(await counts()).toEqual({ signatures: before.signatures, contacts: before.contacts });
  });

  it('has projections and a history that pass verification', async () => {
    const [{ runtime }] = api.instances as [Api['instances'][0]];
    for (const { name } of projections) {
      expect([name, await differencesIn(runtime.projections, name)]).toEqual([name, []]);
    }
    const failing = (await runtime.projections.status()).filter(({ failure }) => failure !== null);
    expect(failing).toEqual([]);

    const { sealer, checkpoints, signers } = runtime;
    await sealer.seal();
    const { note } = await checkpoints.last(organizationId);
    const verdict = await verifyDatabase(runtime.source, organizationId, note, signers.verifierKey);
    expect(verdict).toMatchObject({ ok: true, reason: null });
    expect(verdict.provedEvents).toBe(verdict.events);
  });
}
