import { parse } from 'csv-parse/sync';
import { endedImport, findImport, recordsIn, text } from './background-imports.js';
import { type Answer, Api, Client, NOBODY } from './harness.js';
import { isLong, longIt } from './length.js';
import { Deployment, eventually } from './processes.js';
import { pick, randomOf } from './random.js';

let api: Api;
let client: Client;
let petitionId: string;
let petitions = 0;
beforeAll(async () => {
  api = await Api.start({ instances: 2, environment: { TRUST_PROXY: '1' } });
  api.startWorkers();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
  petitionId = await published();
});

const CSV = 'text/csv';
const NDJSON = 'application/x-ndjson';
const SIGNED = '2021-03-04T10:30:00.000Z';

async function published(by = client): Promise<string> {
  petitions += 1;
  const { body } = await by.post('petition.create-petition', { name: `Save the bees ${petitions}` });
  await by.post('petition.publish-petition', { petitionId: body.data.petitionId });
  return body.data.petitionId;
}

type Options = { type?: string; query?: Record<string, string>; by?: Client };

function send(file: string, { type = CSV, query = {}, by = client }: Options = {}): Promise<Answer> {
  const path = `/v1/petition.import-signatures?${new URLSearchParams({ petitionId, ...query }).toString()}`;
  return by.request('POST', path, file, { 'Content-Type': type });
}

const find = (importId: string, by = client) => findImport(importId, by);
const ended = (importId: string, by = client) => endedImport(importId, by);

/** Imports a file and waits for its end. */
async function imported(file: string, options: Options = {}): Promise<any> {
  const { status, body } = await send(file, { ...options, query: { subscribed: 'false', ...options.query } });
  expect([status, body.error]).toEqual([200, undefined]);
  return ended(body.data.importId, options.by);
}

const counts = ({ rows, created, updated, unchanged, failed, signed }: any) => ({
  rows,
  created,
  updated,
  unchanged,
  failed,
  signed,
});

async function signatures(by = client): Promise<any[]> {
  const query = { petitionId, contacts: 'true' };
  const { body } = await by.get('petition.export-signatures', query);
  return recordsIn(body as string);
}

const counter = async (by = client) =>
  (await by.get('petition.get-petition', { petitionId })).body.data.signatures;

const contactOf = async (email: string) =>
  (await client.get('contact.list-contacts', { email })).body.data[0];

async function create(email: string, fields: object = {}): Promise<void> {
  const contact = { email, organizationId: client.organizationId, ...fields };
  expect((await client.post('contact.create-contact', contact)).status).toBe(200);
}

describe('import-signatures', () => {
  it('adds a signature for each row, with its time, comment and source', async () => {
    const file = text(
      'email,First name,signedAt,comment,source',
      'ada@example.org,Ada,2021-03-04T10:30:00.123Z,For the bees,market stall',
      'grace@example.org,Grace,,,',
      'nobody,No,,,',
    );
    const before = new Date().toISOString();
    const done = await imported(file, { query: { name: 'paper.csv' } });
    expect(done).toMatchObject({
      status: 'DONE',
      failure: null,
      petitionId,
      onConflict: 'keep',
      name: 'paper.csv',
    });
    expect(counts(done)).toEqual({ rows: 3, created: 2, updated: 0, unchanged: 0, failed: 1, signed: 2 });
    expect(await counter()).toBe(2);
    const [ada, grace] = await signatures();
    expect(ada).toMatchObject({
      email: 'ada@example.org',
      firstName: 'Ada',
      signedAt: '2021-03-04T10:30:00.123Z',
      comment: 'For the bees',
      source: 'market stall',
      status: 'CONFIRMED',
      suspicion: [],
    });
    expect(ada.createdAt >= before).toBe(true);
    expect(grace).toMatchObject({ comment: null, source: null, signedAt: grace.createdAt });
    const { data: stats } = (await client.get('petition.get-stats', { petitionId })).body;
    expect(stats.days).toEqual([
      { date: '2021-03-04', signatures: 1 },
      { date: grace.createdAt.slice(0, 10), signatures: 1 },
    ]);
    const past = await client.get('petition.get-stats', { petitionId, asOf: before });
    expect(past.body.data.signatures).toBe(0);
    const filter = { signed: petitionId, inLast: 30 };
    const made = await client.post('segment.create-segment', { name: 'Recent', filter });
    const { segmentId } = made.body.data;
    const recent = (await client.get('contact.list-contacts', { segmentId })).body.data;
    expect(recent.map(({ email }: any) => email)).toEqual(['grace@example.org']);
    const { body } = await client.get('import.get-import-problems', { importId: done.id });
    expect(parse(body)[1]!.slice(0, 2)).toEqual(['nobody', 'No']);
  });

  it('counts what a row changed: a contact, a signature, or nothing', async () => {
    await create('new@example.org');
    const contact = { email: 'signed@example.org' };
    await client.post('petition.add-signature', { petitionId, contact, comment: 'Mine' });
    const rows = text(
      'email,comment',
      'new@example.org,a',
      'signed@example.org,b',
      'NEW@example.org,c',
      'other@example.org,d',
    );
    const dry = await imported(rows, { query: { dryRun: 'true' } });
    // A dry run does not compare rows with each other.
    expect(counts(dry)).toEqual({ rows: 4, created: 1, updated: 2, unchanged: 1, failed: 0, signed: 3 });
    expect(await counter()).toBe(1);
    const done = await imported(rows);
    expect(counts(done)).toEqual({ rows: 4, created: 1, updated: 1, unchanged: 2, failed: 0, signed: 2 });
    const outcomes = (await client.get('import.get-import-rows', { importId: done.id })).body as string;
    expect([...outcomes.matchAll(/"outcome":"(\w+)"/g)].map(([, outcome]) => outcome)).toEqual([
      'UPDATED',
      'UNCHANGED',
      'UNCHANGED',
      'CREATED',
    ]);
    const comments = (await signatures()).map(({ email, comment }) => [email, comment]);
    expect(comments.toSorted()).toEqual([
      ['new@example.org', 'a'],
      ['other@example.org', 'd'],
      ['signed@example.org', 'Mine'],
    ]);
    const again = await imported(rows);
    expect(counts(again)).toMatchObject({ unchanged: 4, signed: 0 });
    // Without a signature, they can sign again.
    const { id: contactId } = await contactOf('other@example.org');
    await client.delete('petition.remove-signature', { petitionId, contactId });
    expect(counts(await imported(rows))).toMatchObject({ unchanged: 3, updated: 1, signed: 1 });
    expect(await counter()).toBe(3);
  });

  it('sends no email to signers and publishes no comment', async () => {
    await imported(text('email,comment', 'ada@example.org,Private'));
    const types = await api.eventTypes(client.organizationId);
    expect(types.filter((type) => /Signature|Signed|Mail/.test(type))).toEqual(['PetitionSigned']);
    const { data: events } = (await client.get('event.list-events', { type: 'PetitionSigned' })).body;
    expect(events[0].data).toMatchObject({ isCommentPublic: false, suspicion: [], signedAt: null });
  });

  it.each<[string, string, { [field: string]: unknown }]>([
    [
      'Change.org',
      'First Name,Last Name,Email,City,State,Postal Code,Country,Signed On,Reason for signing\n' +
        'Ada,Lovelace,ada@example.org,London,,W1,GB,2021-03-04 10:30,"For, the bees"',
      { comment: 'For, the bees', source: null },
    ],
    [
      'Action Network',
      'first_name,last_name,email,zip_code,can2_subscription_status,source_code,Comments,action_date\n' +
        'Ada,Lovelace,ada@example.org,W1,unsubscribed,twitter,For the bees,2021-03-04T10:30:00Z',
      { comment: 'For the bees', source: 'twitter' },
    ],
    [
      'NationBuilder',
      'nationbuilder_id,first_name,last_name,email,comment,created_at,email_opt_in\n' +
        '7,Ada,Lovelace,ada@example.org,For the bees,03/04/2021 10:30 AM,false',
      {
        comment: null,
        failed: 'signedAt must be an unambiguous date, such as 2024-05-31 or 2024-05-31 14:30',
      },
    ],
    [
      'ControlShift',
      'first_name,last_name,email,postcode,country,comment,source,created_at,confirmed_at\n' +
        'Ada,Lovelace,ada@example.org,W1,GB,For the bees,fb,2021-03-04 10:30:00 UTC,2021-03-05',
      { comment: 'For the bees', source: 'fb' },
    ],
    [
      'openPetition',
      'Vorname;Nachname;E-Mail;PLZ;Ort;Kommentar;Unterschrieben am;Status\n' +
        'Ada;Lovelace;ada@example.org;10115;Berlin;Für die Bienen;04.03.2021 10:30;bestätigt',
      { comment: 'Für die Bienen', source: null },
    ],
    [
      'French',
      'Prénom;Nom;Adresse e-mail;Ville;Commentaire;Signé le;Origine\n' +
        'Ada;Lovelace;ada@example.org;Lyon;Pour les abeilles;4.3.2021 10:30;marché',
      { comment: 'Pour les abeilles', source: 'marché' },
    ],
    [
      'Spanish',
      'Nombre;Apellidos;Correo electrónico;Motivo;Fecha de firma;Fuente\n' +
        'Ada;Lovelace;ada@example.org;Por las abejas;4.3.2021 10:30;mercado',
      { comment: 'Por las abejas', source: 'mercado' },
    ],
  ])('recognizes the columns of %s', async (_, file, { failed, ...expected }) => {
    const done = await imported(file);
    if (failed !== undefined) {
      expect(done.problems).toEqual([{ line: 2, message: failed }]);
      return;
    }
    expect([done.failure, done.problems]).toEqual([null, []]);
    const [signature] = await signatures();
    expect(signature).toMatchObject({
      firstName: 'Ada',
      lastName: 'Lovelace',
      signedAt: SIGNED,
      ...expected,
    });
    expect((await contactOf('ada@example.org')).subscribed).toBe(false);
  });

  it.each([CSV, NDJSON])('imports an export of signatures unchanged: %s', async (type) => {
    const map = JSON.stringify({ Gesagt: 'comment', Wann: 'signedAt', Woher: 'source' });
    await imported(text('email,Gesagt,Wann,Woher', `ada@example.org,"a\nb",${SIGNED},x`), { query: { map } });
    const format = type === CSV ? 'csv' : 'ndjson';
    const { body } = await client.get('petition.export-signatures', { petitionId, contacts: 'true', format });
    const [before] = await signatures();
    petitionId = await published();
    const done = await imported(body, { type });
    expect(counts(done)).toEqual({ rows: 1, created: 0, updated: 1, unchanged: 0, failed: 0, signed: 1 });
    const { id: _, createdAt: __, ...same } = before;
    expect(await signatures()).toEqual([expect.objectContaining({ ...same, petitionId })]);
  });

  it('reports rows whose signature is invalid, and imports the others', async () => {
    const later = new Date(Date.now() + 86_400_000).toISOString();
    const cases: [{ [field: string]: unknown }, string | undefined][] = [
      [{ signedAt: later }, 'signedAt must not be in the future'],
      [{ signedAt: '1969-12-31' }, 'signedAt must not be before 1970'],
      [{ signedAt: '03/04/2021' }, 'signedAt must be an unambiguous date'],
      [{ signedAt: 'yesterday' }, 'signedAt must be an unambiguous date'],
      [{ signedAt: 7 }, 'signedAt must be a string'],
      [{ comment: 'x'.repeat(10_001) }, 'comment must have at most 10000 characters'],
      [{ source: 'x'.repeat(101) }, 'source must have at most 100 characters'],
      [{ status: 'PENDING' }, 'status is "PENDING": only confirmed signatures are imported'],
      [{ status: 'unsubscribed' }, 'status is "unsubscribed"'],
      [{ hat: 1 }, 'hat is not a field'],
      [{ status: 'CONFIRMED', comment: null, source: '', signedAt: ' 1970-01-01 ' }, undefined],
    ];
    const lines = cases.map(([fields], n) => JSON.stringify({ email: `p${n}@example.org`, ...fields }));
    const done = await imported(text(...lines), { type: NDJSON });
    expect(done.problems.map(({ message }: any) => message)).toEqual(
      cases.flatMap(([, message]) => (message === undefined ? [] : [expect.stringContaining(message)])),
    );
    expect((await signatures()).map(({ email, signedAt }) => [email, signedAt])).toEqual([
      [`p${cases.length - 1}@example.org`, '1970-01-01T00:00:00.000Z'],
    ]);
  });

  it('requires a petition that was published, and both scopes', async () => {
    const file = text('email', 'a@example.org');
    const query = { subscribed: 'false' };
    const draft = (await client.post('petition.create-petition', { name: 'Draft' })).body.data.petitionId;
    const refused = await send(file, { query: { ...query, petitionId: draft } });
    expect([refused.status, refused.body.error.reason]).toEqual([409, 'PETITION_NOT_PUBLISHED']);
    const other = await published(await api.organization());
    for (const unknown of [NOBODY, other, 'x'])
      expect((await send(file, { query: { ...query, petitionId: unknown } })).status).toBe(404);
    const gone = await published();
    await client.post('petition.close-petition', { petitionId: gone });
    expect((await imported(file, { query: { petitionId: gone } })).signed).toBe(1);
    await client.delete('petition.delete-petition', { petitionId: gone });
    expect((await send(file, { query: { ...query, petitionId: gone } })).status).toBe(404);
    for (const scopes of [['petition:write'], ['contact:write']]) {
      const { key } = await api.createKey(client.organizationId, { scopes });
      const by = new Client(api.origin, client.organizationId, key);
      expect((await send(file, { by, query })).status).toBe(403);
    }
    const undecided = await send(file);
    expect([undecided.status, undecided.body.error.issues[0].path]).toEqual([400, 'subscribed']);
    const map = { query: { ...query, map: '{"email":"signedOn"}' } };
    expect((await send(file, map)).body.error.message).toContain('signedAt, comment, source, status');
    const ofContacts = `/v1/import.create-import?${new URLSearchParams({ map: '{"email":"comment"}' }).toString()}`;
    const plain = await client.request('POST', ofContacts, file, { 'Content-Type': CSV });
    expect(plain.body.error.message).not.toContain('signedAt');
  });

  it.each<[string, unknown[]]>([
    ['keep', ['London', 2, []]],
    ['update', ['Bern', 2, []]],
    ['fail', ['London', 1, ['Another contact in your organization already has this email']]],
  ])(
    'with onConflict=%s, a contact with other details signs or fails',
    async (onConflict, [city, count, why]) => {
      await create('ada@example.org', { city: 'London' });
      const rows = text('email,city', 'ada@example.org,Bern', 'new@example.org,Bern');
      const done = await imported(rows, { query: { onConflict } });
      expect([(await contactOf('ada@example.org')).city, await counter()]).toEqual([city, count]);
      expect(done.problems.map(({ message }: any) => message.slice(0, 59))).toEqual(why);
    },
  );
});

it('an import of signatures subscribes no one without consent', async () => {
  const random = randomOf(20);
  const STATES = ['subscribed', 'refused', 'suppressed', 'unknown'] as const;
  const SAID = ['', 'yes', 'no', 'unsubscribed', 'confirmed'] as const;
  const people = Array.from({ length: isLong ? 200 : 60 }, (_, n) => ({
    email: `p${n}@example.org`,
    state: pick(random, STATES),
    said: pick(random, SAID),
  }));
  for (const { email, state } of people) {
    if (state !== 'unknown') await create(email, { subscribed: state !== 'refused' });
    if (state === 'suppressed') {
      await client.post('suppression.create-suppression', { email });
      await create(email, { subscribed: false, onConflict: 'update' });
    }
  }
  const rows = people.map(({ email, said }) => `${email},${said},${pick(random, ['Bern', ''])},For it`);
  // The last import has a column that seems to state consent, but is about the signature.
  for (const [header, onConflict] of [
    ['email,subscribed,city,comment', 'keep'],
    ['email,subscribed,city,comment', 'update'],
  ])
    await imported(text(header!, ...rows), { query: { onConflict: onConflict! } });
  for (const { email, state, said } of people) {
    const isYes = said === 'yes' || said === 'confirmed';
    const isNo = said === 'no' || said === 'unsubscribed';
    const may = state === 'subscribed' ? !isNo : state === 'unknown' && isYes;
    expect([email, state, said, (await contactOf(email)).subscribed]).toEqual([email, state, said, may]);
  }
  expect(await counter()).toBe(people.length);
  const status = text('email,status', 'new@example.org,confirmed', 'newer@example.org,CONFIRMED');
  expect((await send(status)).status).toBe(400);
  expect((await imported(status)).signed).toBe(2);
  expect((await contactOf('new@example.org')).subscribed).toBe(false);
});

longIt('the count stays exact while the same people sign, withdraw and are deleted', async () => {
  const count = isLong ? 2_000 : 300;
  const people = Array.from({ length: count }, (_, n) => `p${n}@example.org`);
  const { body } = await send(text('email,comment', ...people.map((email) => `${email},imported`)), {
    query: { subscribed: 'false' },
  });
  const { key } = await api.createKey(client.organizationId, { rateLimit: 1_000 });
  const others = api.instances.map(({ origin }) => new Client(origin, client.organizationId, key));
  await Promise.all(
    others.map(async (other, which) => {
      const random = randomOf(which);
      for (let n = 0; n < count / 6; n += 1) {
        const contact = { email: pick(random, people) };
        const signed = await other.post('petition.add-signature', { petitionId, contact });
        expect([signed.status, signed.body.error]).toEqual([200, undefined]);
        const { contactId } = signed.body.data;
        const what = random(4);
        if (what === 0) await other.delete('petition.remove-signature', { petitionId, contactId });
        if (what === 1) await other.delete('contact.delete-contact', { contactId });
      }
    }),
  );
  const done = await ended(body.data.importId);
  expect([done.status, done.rows, done.failure]).toEqual(['DONE', count, null]);
  const [{ standing, added }] = await api.database.source.query(
    `SELECT count(*) FILTER (WHERE type = 'PetitionSigned')::int
         - count(*) FILTER (WHERE type = 'SignatureWithdrawn')::int AS standing,
       count(*) FILTER (WHERE type = 'PetitionSigned' AND metadata->>'requestId' = $2)::int AS added
     FROM events WHERE organization_id = $1`,
    [client.organizationId, done.id],
  );
  expect(await counter()).toBe(standing);
  expect((await signatures()).length).toBe(standing);
  expect(done.signed).toBeLessThanOrEqual(added);
});

it('fails if its petition is deleted, and keeps the contacts', async () => {
  const people = Array.from({ length: 4_000 }, (_, n) => `p${n}@example.org`);
  const { body } = await send(text('email', ...people), { query: { subscribed: 'false' } });
  await client.post('petition.close-petition', { petitionId });
  await eventually(async () => expect((await find(body.data.importId)).rows).toBeGreaterThan(0));
  await client.delete('petition.delete-petition', { petitionId });
  const done = await ended(body.data.importId);
  expect([done.status, done.rows < people.length]).toEqual(['FAILED', true]);
  expect(done.failure).toContain('petition');
});

describe('with several instances', () => {
  longIt('another one finishes an import whose instance is killed: each row signs once', async () => {
    const deployment = await Deployment.create();
    const organization = await deployment.organization();
    const { source } = deployment.database;
    const first = await deployment.startServer();
    const by = organization.at(first.origin);
    petitionId = await published(by);
    const count = isLong ? 12_000 : 800;
    const rows = Array.from({ length: count }, (_, n) => `p${n}@example.org,${n},2021-03-04`);
    // Each tenth person is in the file twice.
    const twice = rows.flatMap((row, n) => (n % 10 === 0 ? [row, row] : [row]));
    const file = text('email,comment,signedAt', ...twice);
    const { body } = await send(file, { by, query: { subscribed: 'false' } });
    const { importId } = body.data;
    await eventually(async () => expect((await find(importId, by)).rows).toBeGreaterThan(0));
    await first.end('SIGKILL');
    const second = await deployment.startServer();
    await source.query('UPDATE contact_imports SET lease_expires_at = clock_timestamp()');
    const later = organization.at(second.origin);
    const done = await ended(importId, later);
    expect(counts(done)).toEqual({
      rows: twice.length,
      created: count,
      updated: 0,
      unchanged: count / 10,
      failed: 0,
      signed: count,
    });
    const [{ signed, people }] = await source.query(
      `SELECT count(*)::int AS signed, count(DISTINCT subject_id)::int AS people FROM events
       WHERE organization_id = $1 AND type = 'PetitionSigned'`,
      [organization.organizationId],
    );
    expect([signed, people, await counter(later)]).toEqual([count, count, count]);
    await deployment.stop();
  });

  it('those of the version before leave it alone', async () => {
    const own = await Api.start();
    const by = await own.organization();
    petitionId = await published(by);
    const { body } = await send(text('email', 'a@example.org'), { by, query: { subscribed: 'false' } });
    const { importId } = body.data;
    // What 0.7.0 takes.
    const theirs = `SELECT FROM contact_imports WHERE status IN ('QUEUED', 'RUNNING', 'WAITING', 'WORKING')`;
    expect(await own.database.source.query(theirs)).toEqual([]);
    expect((await find(importId, by)).status).toBe('QUEUED');
    own.startWorkers();
    expect((await ended(importId, by)).signed).toBe(1);
    await own.stop();
  });
});

it('undo-import withdraws the signatures of the contacts that it deletes, and only these', async () => {
  const signatures = async () =>
    (await client.get('petition.get-petition', { petitionId })).body.data.signatures;
  const before = await imported(text('email', 'before@example.org'));
  const done = await imported(
    text('email', ...['a', 'b', 'changed'].map((name) => `${name}@example.org`), 'known@example.org'),
    { query: { petitionId: await published() } },
  );
  expect([before.signed, done.signed]).toEqual([1, 4]);
  const other = await imported(
    text('email', 'new@example.org', 'a@example.org', 'invalid@example.org', 'changed@example.org'),
  );
  expect([other.created, other.signed, await signatures()]).toEqual([2, 4, 5]);
  const { data: listed } = (await client.get('petition.list-signatures', { petitionId, limit: '100' })).body;
  const { data: found } = (await client.get('contact.list-contacts', { email: 'invalid@example.org' })).body;
  const invalid = listed.find((one: any) => one.contactId === found[0].id);
  const removed = await client.post('petition.invalidate-signatures', {
    ...{ petitionId, signatureIds: [invalid.id] },
  });
  expect([removed.status, await signatures()]).toEqual([200, 4]);
  await client.post('import.undo-import', { importId: other.id });
  await eventually(async () => expect((await find(other.id)).undo.status).toBe('DONE'));
  expect((await find(other.id)).undo).toMatchObject({ deleted: 2, kept: 0 });
  // Two contacts that existed signed; a restored signature of a deleted contact does not count again.
  expect(await signatures()).toBe(3);
  const { invalidationId } = removed.body.data;
  await client.post('petition.restore-signatures', { petitionId, invalidationId });
  expect(await signatures()).toBe(3);
});
