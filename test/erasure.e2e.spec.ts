import { randomUUID } from 'node:crypto';
import { Projections, schemaOf } from '#libs/projections';
import { contactsProjection } from '../src/contacts/index.js';
import { command } from './commands.js';
import { type Client } from './harness.js';
import { Deployment, type ServerProcess } from './processes.js';

let deployment: Deployment;
let client: Client;
let server: ServerProcess;
beforeAll(async () => {
  deployment = await Deployment.create();
  client = await deployment.organization();
  server = await deployment.startServer({ LOG_LEVEL: 'debug' });
  client = client.at(server.origin);
});
afterAll(() => deployment.stop());

const CONTACTS = `${schemaOf(contactsProjection)}.contacts`;

const DETAILS = [
  'firstName',
  'lastName',
  'bio',
  'phone',
  'mobile',
  'address',
  'zip',
  'city',
  'region',
  'country',
];

/** A person with unique details. */
function person(name: string): Record<string, string> {
  const details = DETAILS.map((detail) => [detail, `${name}-${detail.toLowerCase()}`]);
  return { email: `${name}@erasure.example`, ...Object.fromEntries(details) };
}

type Places = { [place: string]: string };

/** The contents of the database as text, by table. bytea is in hexadecimal. */
async function dumpTables(): Promise<Places> {
  const { source } = deployment.database;
  const tables: { name: string }[] = await source.query(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  const dump: Places = {};
  for (const { name } of tables) {
    const rows: { text: string }[] = await source.query(`SELECT t::text AS text FROM ${name} t`);
    dump[name] = rows.map(({ text }) => text).join('\n');
  }
  return dump;
}

/** Every event as the product reads it, decrypted if its key still exists. */
async function decryptedEvents(): Promise<string> {
  const { store } = deployment;
  return JSON.stringify(await store.readAll(0, await store.horizon(), 10_000));
}

function holds(text: string, marker: string): boolean {
  return (
    text.toLowerCase().includes(marker.toLowerCase()) ||
    text.includes(Buffer.from(marker).toString('hex')) ||
    text.includes(Buffer.from(marker).toString('base64').replace(/=+$/, ''))
  );
}

/** The places that contain any of the details. */
function placesOf(details: Record<string, string>, places: Places): string[] {
  return Object.keys(places).filter((place) =>
    Object.values(details).some((marker) => holds(places[place]!, marker)),
  );
}

it('delete-contact removes every personal detail everywhere, and the history stays readable', async () => {
  const { organizationId } = client;
  const [first, last, other] = [person('qcreated'), person('qupdated'), person('qother')];
  await client.post('field.create-field', { name: 'Note' });
  const extrasOf = (name: string) => ({
    externalIds: [`erasure:${name}-id`],
    customFields: { note: `${name}-note` },
  });
  const everything = {
    ...prefixed('first', { ...first, id: 'erasure:qcreated-id', note: 'qcreated-note' }),
    ...prefixed('last', { ...last, id: 'erasure:qupdated-id', note: 'qupdated-note' }),
  };

  const created = await client.post(
    'contact.create-contact',
    { organizationId, ...first, ...extrasOf('qcreated') },
    { 'Idempotency-Key': `sign-up/${first.email}` },
  );
  expect(created.status).toBe(200);
  const { contactId } = created.body.data;
  const updated = await client.post(
    'contact.update-contact',
    { contactId, ...last, ...extrasOf('qupdated') },
    { 'Idempotency-Key': `update/${last.email}` },
  );
  expect(updated.body.data).toMatchObject(last);
  const kept = await client.post('contact.create-contact', { organizationId, ...other });
  expect(kept.status).toBe(200);

  const failures: [number, Promise<{ status: number }>][] = [
    [409, client.post('contact.create-contact', { organizationId, ...first, email: last.email })],
    [409, client.post('contact.update-contact', { contactId: kept.body.data.contactId, ...last })],
    [404, client.post('contact.update-contact', { contactId: organizationId, ...first })],
    [400, client.post('contact.create-contact', { organizationId, ...first, email: last.firstName })],
    [400, client.post('contact.create-contact', { organizationId, ...last, [first.city!]: first.city })],
    [400, client.request('POST', '/v1/contact.create-contact', `{"email":"${first.email}"`)],
    [400, client.get('contact.list-contacts', { limit: last.phone! })],
    [404, client.request('GET', `/v1/contact.get-${first.email}?email=${last.email}`)],
    [404, client.request('GET', `/${first.email}`)],
    [
      422,
      client.post('contact.update-contact', { contactId }, { 'Idempotency-Key': `update/${last.email}` }),
    ],
  ];
  for (const [expected, request] of failures) expect((await request).status).toBe(expected);
  const queries: Record<string, string>[] = [
    { q: last.email! },
    { q: last.lastName! },
    { email: last.email! },
    { country: last.country!, city: last.city!, zip: last.zip! },
  ];
  for (const query of queries) {
    expect((await client.get('contact.list-contacts', query)).body.data).toHaveLength(1);
  }

  // Before the erasure, the details are in the projection and the decrypted history only. Otherwise the search proves nothing.
  const before = await dumpTables();
  expect(placesOf(everything, before)).toEqual([CONTACTS]);
  // Details that are not searchable are encrypted everywhere, even before the erasure.
  const { bio, phone, mobile, address, ...searched } = last;
  for (const marker of Object.values(searched)) expect(holds(before[CONTACTS]!, marker)).toBe(true);
  expect(placesOf({ bio, phone, mobile, address } as Record<string, string>, before)).toEqual([]);
  const historyBefore = await decryptedEvents();
  for (const marker of Object.values(everything)) expect(holds(historyBefore, marker)).toBe(true);

  const deleted = await client.delete(
    'contact.delete-contact',
    { contactId },
    { 'Idempotency-Key': `erase/${last.email}` },
  );
  expect(deleted.status).toBe(200);

  expect(placesOf(everything, await dumpTables())).toEqual([]);
  expect(placesOf(everything, { events: await decryptedEvents() })).toEqual([]);
  expect(placesOf({ ...everything, key: client.key! }, { log: server.stdout + server.stderr })).toEqual([]);
  expect(server.log.filter(({ message }) => message === 'request').length).toBeGreaterThan(10);

  // Repeated requests return nothing either.
  const replayed = await client.post(
    'contact.update-contact',
    { contactId, ...last, ...extrasOf('qupdated') },
    { 'Idempotency-Key': `update/${last.email}` },
  );
  expect(placesOf(everything, { answer: JSON.stringify(replayed.body) })).toEqual([]);
  expect(placesOf(everything, await dumpTables())).toEqual([]);

  // No other contact was erased.
  const query = { contactId: kept.body.data.contactId, organizationId };
  expect((await client.get('contact.get-contact', query)).body.data).toMatchObject(other);
});

it('an erased contact stays unreadable if its encryption key is restored from a backup', async () => {
  const { organizationId } = client;
  const email = `restored-${randomUUID()}@example.org`;
  const { contactId } = (await client.post('contact.create-contact', { organizationId, email })).body.data;
  const { updatedAt: asOf } = (await client.get('contact.get-contact', { organizationId, contactId })).body
    .data;
  const ofContact = [organizationId, contactId];
  const { source } = deployment.database;
  const [kept] = await source.query(
    'SELECT wrapped_key FROM subject_keys WHERE organization_id = $1 AND subject_id = $2',
    ofContact,
  );
  await client.delete('contact.delete-contact', { contactId });
  await source.query('INSERT INTO subject_keys VALUES ($1, $2, $3)', [...ofContact, kept.wrapped_key]);
  try {
    const then = (await client.get('contact.get-contact', { organizationId, contactId, asOf })).body.data;
    expect([then.id, then.email]).toEqual([contactId, null]);
    const exported = await client.get('history.export-events');
    expect(JSON.stringify(exported.body)).not.toContain(email);
    const doctor = await command(['doctor'], deployment.environment);
    expect(doctor.stdout).toContain(`The encryption key of ${contactId} is in the table subject_keys`);
  } finally {
    await source.query('DELETE FROM subject_keys WHERE organization_id = $1 AND subject_id = $2', ofContact);
  }
});

it('delete-contact releases every unique key that identifies the person, including links to deleted records', async () => {
  const { organizationId } = client;
  const { source } = deployment.database;
  const keysNow = async () => {
    const rows: { stream_id: string }[] = await source.query(
      'SELECT stream_id FROM unique_keys WHERE organization_id = $1 ORDER BY key',
      [organizationId],
    );
    return rows.map(({ stream_id }) => stream_id);
  };
  const post = async (operation: string, body: object) => {
    const answer = await client.post(operation, body);
    expect(answer.status).toBe(200);
    return answer.body.data;
  };
  const contact = async (email: string): Promise<string> =>
    (await post('contact.create-contact', { organizationId, email })).contactId;
  const [{ listId }, { listId: deletedList }, { petitionId }, { tagId }] = await Promise.all([
    post('list.create-list', { name: 'Kept' }),
    post('list.create-list', { name: 'Deleted' }),
    post('petition.create-petition', { name: 'Signed' }),
    post('tag.create-tag', { name: 'Kept' }),
  ]);
  await post('petition.publish-petition', { petitionId });
  const other = await contact('stays@erasure.example');
  const link = async (contactId: string) => {
    await post('list.add-contacts', { listId, contactIds: [contactId] });
    await post('petition.add-signature', { petitionId, contactId });
    await post('tag.add-contacts', { tagId, contactIds: [contactId] });
  };
  await link(other);
  const before = await keysNow();

  const contactId = await contact('goes@erasure.example');
  await link(contactId);
  await post('list.add-contacts', { listId: deletedList, contactIds: [contactId] });
  await client.delete('list.delete-list', { listId: deletedList });
  expect((await keysNow()).length).toBeGreaterThan(before.length + 4);
  expect((await client.delete('contact.delete-contact', { contactId })).status).toBe(200);
  // The deleted list had released its own keys.
  const deleted = before.filter((streamId) => streamId !== deletedList);
  expect(await keysNow()).toEqual(deleted);
  expect((await client.get('petition.get-petition', { petitionId })).body.data.signatures).toBe(2);
  expect((await client.get('list.get-list', { listId })).body.data.contacts).toBe(1);
  expect((await client.get('tag.get-tag', { tagId })).body.data.contacts).toBe(1);
});

it('delete-contact also clears the tables of earlier versions that are no longer updated', async () => {
  const { source } = deployment.database;
  const { organizationId } = client;
  const post = async (operation: string, body: object) => (await client.post(operation, body)).body.data;
  const { petitionId } = await post('petition.create-petition', { name: 'Signed' });
  await post('petition.publish-petition', { petitionId });
  const [goes, stays] = [person('qleaves'), person('qremains')];
  const ids: string[] = [];
  for (const details of [goes, stays]) {
    const { contactId } = await post('contact.create-contact', { organizationId, ...details });
    const comment = `${details.firstName} says`;
    const signed = await client.post('petition.add-signature', { petitionId, contactId, comment });
    expect(signed.status).toBe(200);
    ids.push(contactId);
  }
  // The tables as version 0.1.0 left them: the relevant columns and their checkpoints.
  await source.query(`
    CREATE SCHEMA contacts_v1;
    CREATE TABLE contacts_v1.contacts (organization_id uuid, id uuid, bio text, PRIMARY KEY (organization_id, id));
    CREATE SCHEMA petitions_v1;
    CREATE TABLE petitions_v1.signatures (organization_id uuid, id uuid, subject_id uuid, detail text)`);
  for (const [index, { bio, firstName }] of [goes, stays].entries()) {
    const [id, comment] = [ids[index], `${firstName} says`];
    await source.query('INSERT INTO contacts_v1.contacts VALUES ($1, $2, $3)', [organizationId, id, bio]);
    await source.query('INSERT INTO petitions_v1.signatures VALUES ($1, $2, $2, $3)', [
      organizationId,
      id,
      comment,
    ]);
  }
  await source.query(
    "INSERT INTO checkpoints (projection, version) VALUES ('contacts', 1), ('petitions', 1)",
  );
  expect(placesOf(goes, await dumpTables())).toContain('contacts_v1.contacts');

  await client.delete('contact.delete-contact', { contactId: ids[0] });
  const after = await dumpTables();
  expect(placesOf(goes, after)).toEqual([]);
  expect(holds(after['contacts_v1.contacts']!, stays.bio!)).toBe(true);
  // The earlier version still needs the signers to count.
  const signatures = await source.query('SELECT subject_id, detail FROM petitions_v1.signatures ORDER BY id');
  expect(signatures).toEqual([
    { subject_id: ids[0], detail: null },
    { subject_id: ids[1], detail: `${stays.firstName} says` },
  ]);
  await source.query(`DROP SCHEMA contacts_v1 CASCADE; DROP SCHEMA petitions_v1 CASCADE;
    DELETE FROM checkpoints WHERE projection IN ('contacts', 'petitions') AND version = 1`);
});

it('a projection rebuilt after an erasure contains the other contacts, and nothing of the erased one', async () => {
  const { source } = deployment.database;
  const rebuilt = { ...contactsProjection, version: 999 };
  const silent = { log: jest.fn(), warn: jest.fn(), error: jest.fn() };
  const projections = new Projections(source, deployment.store, [rebuilt], silent);
  await projections.start();
  expect(await projections.status()).toMatchObject([{ lag: 0, failure: null }]);
  const rows = await source.query('SELECT * FROM contacts_v999.contacts ORDER BY id');
  expect(rows).toEqual(await source.query(`SELECT * FROM ${CONTACTS} ORDER BY id`));
  expect(rows).toHaveLength(3);
});

function prefixed(prefix: string, fields: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [`${prefix} ${name}`, value]));
}
