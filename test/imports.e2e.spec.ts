import { parse } from 'csv-parse/sync';
import { once } from 'node:events';
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { Keyring, openBytes, sealBytes } from '#libs/event-store';
import { inputOf, OperationRunner, systemContext } from '#libs/rpc';
import { ImportJobs } from '../src/contacts/import/jobs/index.js';
import { RequestSignature } from '../src/petitions/index.js';
import { endedImport, findImport, recordsIn, text } from './background-imports.js';
import { type Answer, Api, Client, ISO, NOBODY } from './harness.js';
import { isLong, longDescribe, longIt } from './length.js';
import { signedIn } from './people-in.js';
import { Deployment, eventually, inParallel } from './processes.js';

let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start({ instances: 2, environment: { TRUST_PROXY: '1' } });
  api.startWorkers();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

const CSV = 'text/csv';
const NDJSON = 'application/x-ndjson';

type Options = {
  type?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  by?: Client;
};

function send(
  body: string | Uint8Array<ArrayBuffer>,
  { type = CSV, query = {}, headers = {}, by = client }: Options = {},
): Promise<Answer> {
  const path = `/v1/import.create-import?${new URLSearchParams(query).toString()}`;
  return by.request('POST', path, body, { 'Content-Type': type, ...headers });
}

const find = (importId: string, by = client) => findImport(importId, by);
const ended = (importId: string, by = client) => endedImport(importId, by);

/** Imports a file and waits for its end. */
async function imported(body: string | Uint8Array<ArrayBuffer>, options: Options = {}): Promise<any> {
  const { status, body: answer } = await send(body, {
    ...options,
    query: { subscribed: 'true', ...options.query },
  });
  expect([status, answer.error]).toEqual([200, undefined]);
  return ended(answer.data.importId, options.by);
}

async function linesOf(operation: string, importId: string): Promise<any[]> {
  const { body } = await client.get(operation, { importId });
  return recordsIn(body as string);
}

async function contacts(): Promise<any[]> {
  return (await client.get('contact.list-contacts', { limit: '100', sort: 'email' })).body.data;
}

const counts = ({ rows, created, updated, unchanged, failed }: any) => [
  rows,
  created,
  updated,
  unchanged,
  failed,
];

describe('create-import', () => {
  const TABLE = text(
    'email,First name,Tags',
    'ada@example.org,Ada,Donor',
    'nobody,No,',
    'grace@example.org,Grace,',
  );

  it('imports in the background, and returns counts, rows and problems', async () => {
    const done = await imported(TABLE, { query: { name: 'people.csv' } });
    expect(done).toMatchObject({
      status: 'DONE',
      name: 'people.csv',
      bytes: TABLE.length,
      bytesDone: TABLE.length,
      problems: [{ line: 3, message: 'email must be an email address, like ada@example.org' }],
      failure: null,
      organizationId: client.organizationId,
    });
    expect(counts(done)).toEqual([3, 2, 0, 0, 1]);
    const [ada, grace] = await contacts();
    expect([ada.firstName, ada.subscribed]).toEqual(['Ada', true]);
    expect(await linesOf('import.get-import-rows', done.id)).toEqual([
      { line: 2, outcome: 'CREATED', contactId: ada.id, message: null },
      { line: 3, outcome: 'FAILED', contactId: null, message: done.problems[0].message },
      { line: 4, outcome: 'CREATED', contactId: grace.id, message: null },
    ]);
    const { body } = await client.get('import.get-import-problems', { importId: done.id });
    expect(parse(body)).toEqual([
      ['email', 'First name', 'Tags', 'importProblem'],
      ['nobody', 'No', '', done.problems[0].message],
    ]);
    // Corrected, it can be imported again.
    const corrected = await imported((body as string).replace('nobody', 'alan@example.org'));
    expect(counts(corrected)).toEqual([1, 1, 0, 0, 0]);
    const { data } = (await client.get('import.list-imports')).body;
    expect(data.map(({ id }: { id: string }) => id)).toEqual([corrected.id, done.id]);
  });

  it('accepts NDJSON, tab-separated values and gzip', async () => {
    const lines = text('{"email":"a@example.org"}', '{"email":"b"}', 'rubbish');
    const done = await imported(lines, { type: NDJSON });
    expect(counts(done)).toEqual([3, 1, 0, 0, 2]);
    expect(await linesOf('import.get-import-problems', done.id)).toEqual([
      { email: 'b', importProblem: expect.stringMatching(/^email must be/) },
      { importProblem: 'is not a JSON object' },
    ]);
    const table = new Uint8Array(gzipSync('email\tNotes\nc@example.org\ta,b\n'));
    const options = { type: 'text/tab-separated-values', headers: { 'Content-Encoding': 'gzip' } };
    expect(counts(await imported(table, options))).toEqual([1, 1, 0, 0, 0]);
    expect((await contacts()).at(-1).bio).toBe('a,b');
  });

  it('returns 400 for broken and for exploding gzip, and stores nothing', async () => {
    const headers = { 'Content-Encoding': 'gzip' };
    const whole = gzipSync(TABLE);
    const bomb = gzipSync(Buffer.concat([Buffer.from('email\n'), Buffer.alloc(8 * 1024 * 1024, 'x')]));
    const bodies = [Buffer.from(TABLE), whole.subarray(0, -12), bomb];
    for (const body of bodies) {
      const { status, body: answer } = await send(new Uint8Array(body), {
        headers,
        query: { subscribed: 'true' },
      });
      expect([status, answer.error.code]).toEqual([400, 'BAD_REQUEST']);
      expect(answer.error.message).toMatch(/gzip|expands/);
    }
    const deflate = await send(TABLE, { headers: { 'Content-Encoding': 'deflate' } });
    expect(deflate.status).toBe(415);
    expect(
      await api.database.source.query('SELECT FROM contact_imports WHERE organization_id = $1', [
        client.organizationId,
      ]),
    ).toEqual([]);
  });

  it.each<[string, string | Uint8Array<ArrayBuffer>, Record<string, string>, string, RegExp]>([
    ['no decision about consent', 'email\na@example.org\n', {}, 'subscribed', /subscribed=true if/],
    ['an unknown column', 'email,Shoe\na@example.org,1\n', { subscribed: 'true' }, 'Shoe', /not a column/],
    ['a map that is no JSON', 'email\n', { map: 'email' }, 'map', /must be a JSON object/],
    [
      'a map to an unknown field',
      'email\n',
      { map: '{"email":"shoe"}' },
      'map',
      /must map "email" to one of/,
    ],
    ['a map of an unknown column', 'email\n', { map: '{"Mail":"email"}' }, 'map', /The columns are: email/],
    ['a wrong delimiter', 'email\n', { delimiter: ':' }, 'delimiter', /must be one of/],
    [
      'an Excel file',
      new Uint8Array([0x50, 0x4b, 3, 4, 20, 0, 6, 0]),
      { subscribed: 'true' },
      'file',
      /is an Excel file: open it, choose "Save as" and the format "CSV UTF-8"/,
    ],
    [
      'a column that may contain opt-outs',
      'email,Consent form\na@b.org,x\n',
      { subscribed: 'true', unknown: 'ignore' },
      'Consent form',
      /seems to state/,
    ],
  ])('returns 400 for %s', async (_, body, query, path, message) => {
    const { status, body: answer } = await send(body, { query });
    expect([status, answer.error.issues[0]]).toEqual([
      400,
      { path, message: expect.stringMatching(message) },
    ]);
  });

  it('uses columns as mapped, with the given character set and delimiter', async () => {
    await client.post('field.create-field', { name: 'Shoe size', type: 'NUMBER' });
    const body = Buffer.from(
      'Kontakt;Keine Post;Gruppe;Größe;Schuh\na@example.org;ja;A;1;41,5\nb@example.org;;A|B;2;\n',
      'latin1',
    );
    const map = {
      Kontakt: 'email',
      'Keine Post': 'optOut',
      Gruppe: 'lists',
      Größe: 'ignore',
      Schuh: 'customFields.shoeSize',
    };
    const query = { map: JSON.stringify(map), charset: 'iso-8859-1', delimiter: 'semicolon' };
    const done = await imported(new Uint8Array(body), { query });
    expect(counts(done)).toEqual([2, 2, 0, 0, 0]);
    expect((await contacts()).map(({ subscribed }) => subscribed)).toEqual([false, true]);
    expect((await contacts()).map(({ customFields }) => customFields)).toEqual([{ shoeSize: 41.5 }, {}]);
    const { data } = (await client.get('list.list-lists', { sort: 'name' })).body;
    expect(data.map(({ name, contacts: size }: any) => [name, size])).toEqual([
      ['A', 2],
      ['B', 1],
    ]);
  });

  it('with unknown=field, creates a custom field for each unrecognized column, once', async () => {
    const rows = text('email,Shoe size,Middle name,,id', 'a@example.org,42,May,x,7', 'b@example.org,,,,');
    const query = { unknown: 'field' };
    const names = async () =>
      (await client.get('field.list-fields')).body.data
        .map(({ name, type }: any) => `${name} ${type}`)
        .toSorted();
    await imported(rows, { query: { ...query, dryRun: 'true' } });
    expect(await names()).toEqual([]);
    expect(counts(await imported(rows, { query }))).toEqual([2, 2, 0, 0, 0]);
    expect(await names()).toEqual(['Middle name TEXT', 'Shoe size TEXT']);
    const [a] = await contacts();
    expect(a.customFields).toEqual({ shoeSize: '42', middleName: 'May' });
    expect(counts(await imported(rows, { query }))).toEqual([2, 0, 0, 2, 0]);
    expect(await names()).toHaveLength(2);

    const { key } = await api.createKey(client.organizationId, { scopes: ['contact:write'] });
    const by = new Client(api.origin, client.organizationId, key);
    const refused = await send(text('email,Hat', 'c@example.org,1'), {
      by,
      query: { ...query, subscribed: 'true' },
    });
    expect([refused.status, refused.body.error.message]).toEqual([
      403,
      expect.stringContaining('field:write'),
    ]);
    const wide = ['email', ...Array.from({ length: 101 }, (_, n) => `Extra ${n}`)].join(',');
    const many = await send(text(wide, 'c@example.org'), { query: { ...query, subscribed: 'true' } });
    expect([many.status, many.body.error.issues[0].path]).toEqual([400, 'unknown']);
    expect(await names()).toHaveLength(2);
  });

  it('a dry run reports what would become of each row, and stores nothing', async () => {
    await imported(text('email,city', 'ada@example.org,London', 'grace@example.org,Bern'));
    const before = await api.eventTypes(client.organizationId);
    const rows = text(
      'email,city,tags',
      'ada@example.org,Oxford,New',
      'grace@example.org,Bern,',
      'new@example.org,,',
    );
    const done = await imported(rows, { query: { dryRun: 'true', onConflict: 'update' } });
    expect([done.dryRun, ...counts(done)]).toEqual([true, 3, 1, 1, 1, 0]);
    const outcomes = await linesOf('import.get-import-rows', done.id);
    expect(outcomes.map(({ contactId }) => contactId === null)).toEqual([false, false, true]);
    expect(counts(await imported(rows, { query: { dryRun: 'true' } }))).toEqual([3, 1, 0, 1, 1]);
    expect(await api.eventTypes(client.organizationId)).toEqual(before);
  });

  it('returns 403 if the columns need a scope that the key lacks, and 404 for an unknown list', async () => {
    const { key } = await api.createKey(client.organizationId, { scopes: ['contact:write'] });
    const by = new Client(api.origin, client.organizationId, key);
    for (const [column, scope] of [
      ['tags', 'tag:write'],
      ['lists', 'list:write'],
      ['bounced', 'suppression:write'],
    ]) {
      const { status, body } = await send(text(`email,${column}`, 'a@example.org,'), {
        by,
        query: { subscribed: 'true' },
      });
      expect([status, body.error.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
      expect(body.error.message).toContain(scope);
    }
    const { status } = await send(TABLE, { query: { listId: NOBODY, subscribed: 'true' } });
    expect(status).toBe(404);
    const stranger = await api.organization();
    const done = await imported(TABLE);
    for (const operation of ['get-import', 'get-import-rows', 'get-import-problems'])
      expect((await stranger.get(`import.${operation}`, { importId: done.id })).status).toBe(404);
    expect((await stranger.post('import.cancel-import', { importId: done.id })).status).toBe(404);
    expect((await stranger.get('import.list-imports')).body.data).toEqual([]);
  });

  it('with an Idempotency-Key, the same file is imported once', async () => {
    const headers = { 'Idempotency-Key': 'once' };
    const options = { headers, query: { subscribed: 'true' } };
    const [first, second] = [await send(TABLE, options), await send(TABLE, options)];
    expect(second.body).toEqual(first.body);
    expect((await send(`${TABLE}x\n`, options)).status).toBe(422);
    await ended(first.body.data.importId);
    expect((await client.get('import.list-imports')).body.data).toHaveLength(1);
  });

  it('returns 400 for a wrong header while the body is still being sent, and keeps no part of it', async () => {
    const endless = request(`${api.origin}/v1/import.create-import`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${client.key}`, 'Content-Type': CSV },
    });
    endless.on('error', () => undefined);
    endless.write('nickname\n');
    const sending = setInterval(() => endless.write(`${'x'.repeat(1_023)}\n`.repeat(64)), 5);
    const [response] = await once(endless, 'response');
    expect(response.statusCode).toBe(400);
    clearInterval(sending);
    endless.destroy();
    const kept = 'SELECT FROM contact_imports WHERE organization_id = $1';
    await eventually(async () =>
      expect(await api.database.source.query(kept, [client.organizationId])).toEqual([]),
    );
  });

  it('returns 400 if the file was deleted because it arrived too slowly', async () => {
    const slow = request(`${api.origin}/v1/import.create-import?subscribed=true`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${client.key}`, 'Content-Type': CSV },
    });
    const answered = once(slow, 'response');
    slow.write('email\n');
    const mine = [client.organizationId];
    const { source } = api.database;
    await eventually(async () =>
      expect(await source.query('SELECT FROM contact_imports WHERE organization_id = $1', mine)).toHaveLength(
        1,
      ),
    );
    await source.query('DELETE FROM contact_imports WHERE organization_id = $1', mine);
    slow.end('a@example.org\n');
    const [response] = await answered;
    expect([response.statusCode, (await response.toArray()).join('')]).toEqual([
      400,
      expect.stringContaining('arrived too slowly'),
    ]);
  });

  it('ignores empty columns without a name, and loses no value in them', async () => {
    const rows = Array.from({ length: 300 }, (_, n) => `p${n}@example.org,Bern,,`);
    const table = text('email,city,,', ...rows, 'last@example.org,Bern,,lost');
    const message = 'has a value in column 4, which has no name';
    const direct = await client.request('POST', '/v1/contact.import-contacts?subscribed=true', table, {
      'Content-Type': CSV,
    });
    expect(direct.body.data).toMatchObject({ created: 300, failed: [{ line: 302, message }] });
    const done = await imported(table);
    expect([...counts(done), done.problems]).toEqual([301, 0, 0, 300, 1, [{ line: 302, message }]]);
  });

  it('leaves out problems of contacts who were erased since', async () => {
    await imported(text('email,city', 'ada@example.org,London'));
    const [{ id: contactId }] = await contacts();
    const done = await imported(text('email,city', 'ada@example.org,Oxford', 'nobody,Bern'));
    await client.delete('contact.delete-contact', { contactId });
    const { body } = await client.get('import.get-import-problems', { importId: done.id });
    expect(parse(body).map(([email]) => email)).toEqual(['email', 'nobody']);
  });
});

describe('an import in progress', () => {
  const PEOPLE = isLong ? 12_000 : 4_000;
  const people = (count = PEOPLE) =>
    text('email,city', ...Array.from({ length: count }, (_, n) => `p${n}@example.org,Bern`));

  /** Starts an import and waits until some of its rows are done. */
  async function begun(by = client): Promise<string> {
    const { body } = await send(people(), { by, query: { subscribed: 'true' } });
    const { importId } = body.data;
    await eventually(async () => expect((await find(importId)).rows).toBeGreaterThan(0));
    return importId;
  }

  async function expectExactCounts(done: any, most: number): Promise<void> {
    expect(done.rows).toBeLessThan(most);
    expect(done.created).toBe(done.rows);
    const types = await api.eventTypes(client.organizationId);
    expect(types.filter((type) => type === 'ContactCreated')).toHaveLength(done.created);
    expect(await linesOf('import.get-import-rows', done.id)).toHaveLength(done.rows);
  }

  it('stops when it is cancelled, with exact counts', async () => {
    const importId = await begun();
    const { status, body } = await client.post('import.cancel-import', { importId });
    expect([status, body.data.id]).toEqual([200, importId]);
    const done = await ended(importId);
    expect(done.status).toBe('CANCELLED');
    await expectExactCounts(done, PEOPLE);
    expect((await client.post('import.cancel-import', { importId })).body.data.status).toBe('CANCELLED');
  });

  it('is continued by another instance if the first one loses it, with each row once and exact counts', async () => {
    const importId = await begun();
    // As after a crash: the first instance can store nothing more, also if it is still running.
    const [, taken] = await api.database.source.query(
      `UPDATE contact_imports SET lease = gen_random_uuid(), lease_expires_at = '-infinity' WHERE id = $1 AND status = 'RUNNING'`,
      [importId],
    );
    expect(taken).toBe(1);
    const done = await ended(importId);
    expect([done.status, ...counts(done)]).toEqual(['DONE', PEOPLE, PEOPLE, 0, 0, 0]);
    const types = await api.eventTypes(client.organizationId);
    expect(types.filter((type) => type === 'ContactCreated')).toHaveLength(PEOPLE);
    const lines = (await linesOf('import.get-import-rows', importId)).map(({ line }) => line);
    expect([lines.length, new Set(lines).size]).toEqual([PEOPLE, PEOPLE]);
    const [{ attempts }] = await api.database.source.query(
      'SELECT attempts FROM contact_imports WHERE id = $1',
      [importId],
    );
    expect(attempts).toBeGreaterThan(1);
  });

  it('of the dashboard stops when its user leaves the team', async () => {
    const address = 'leaving@example.org';
    const editor = await signedIn(api, client, 'EDITOR', address);
    const path = `/dashboard/${client.organizationId}/contacts/import`;
    const file = { field: 'file', name: 'people.csv', type: CSV, content: people() };
    const { location } = await editor.upload(path, file, { onConflict: 'fail' });
    await editor.post(location!, { 'column-0': 'email', 'column-1': 'city' });
    const importId = location!.split('/').at(-1)!;
    await eventually(async () => expect((await find(importId)).rows).toBeGreaterThan(0));
    const { data } = (await client.get('team.list-members')).body;
    const { id: memberId } = data.find(({ email }: { email: string }) => email === address);
    expect((await client.delete('team.remove-member', { memberId })).status).toBe(200);
    const done = await ended(importId);
    expect([done.status, done.failure]).toEqual([
      'FAILED',
      'The person who started this import has left the team.',
    ]);
    await expectExactCounts(done, PEOPLE);
  });

  it('stops when its API key is revoked, with a reason and exact counts; the same file continues it', async () => {
    const { id: apiKeyId, key } = await api.createKey(client.organizationId, { rateLimit: 1_000 });
    const importId = await begun(new Client(api.origin, client.organizationId, key));
    expect((await client.delete('api-key.revoke-api-key', { apiKeyId })).status).toBe(200);
    const done = await ended(importId);
    expect([done.status, done.failure]).toEqual([
      'FAILED',
      'The API key that started this import has expired or was revoked.',
    ]);
    await expectExactCounts(done, PEOPLE);
    const again = await imported(people());
    expect(counts(again)).toEqual([PEOPLE, PEOPLE - done.created, 0, done.created, 0]);
  });
});

it('files and outcomes are deleted after seven days, and files that wait for a decision after one', async () => {
  const editor = await signedIn(api, client, 'EDITOR');
  const file = { field: 'file', name: 'people.csv', type: CSV, content: text('email', 'b@example.org') };
  const preview = async () => {
    const { location } = await editor.upload(`/dashboard/${client.organizationId}/contacts/import`, file);
    return location!.split('/').at(-1)!;
  };
  const done = async () => (await imported(text('email', 'a@example.org', 'nobody'))).id;
  const ages = { [await done()]: 167, [await done()]: 169, [await preview()]: 23, [await preview()]: 25 };
  for (const [id, hours] of Object.entries(ages))
    await api.database.source.query(
      `UPDATE contact_imports SET made_at = made_at - age, kept_until = kept_until - age, lease_expires_at = '-infinity'
       FROM make_interval(hours => $2) AS age WHERE id = $1`,
      [id, hours],
    );
  const kept = async () => {
    const rows = await api.database.source.query(
      `SELECT import_id AS id FROM contact_import_pages UNION SELECT import_id FROM contact_import_chunks
       WHERE import_id IN (SELECT id FROM contact_imports WHERE organization_id = $1)`,
      [client.organizationId],
    );
    return Object.keys(ages).flatMap((id) =>
      rows.some((row: { id: string }) => row.id === id) ? [ages[id]] : [],
    );
  };
  expect(await kept()).toEqual([167, 169, 23, 25]);
  // An instance tidies up when it starts to import.
  const jobs = api.instances[1]!.app.get(ImportJobs);
  jobs.start();
  await eventually(async () => expect(await kept()).toEqual([167, 23]));
  await jobs.stop();
});

/** Undoes an import and waits for the end. */
async function undone(importId: string, by = client): Promise<any> {
  const { status, body } = await by.post('import.undo-import', { importId });
  expect([status, body.error]).toEqual([200, undefined]);
  let found: any;
  await eventually(async () => {
    found = await find(importId, by);
    expect(['DONE', 'FAILED']).toContain(found.undo.status);
  });
  return found.undo;
}

describe('undo-import', () => {
  type Case = [name: string, isKept: boolean, change: (contactId: string, email: string) => Promise<unknown>];
  let petitionId: string;
  beforeEach(async () => {
    ({ petitionId } = (await client.post('petition.create-petition', { name: 'Clean rivers' })).body.data);
    await client.post('petition.publish-petition', { petitionId });
  });
  const post = async (operation: string, fields: object) => {
    const { status, body } = await client.post(operation, fields);
    expect([operation, status, body.error]).toEqual([operation, 200, undefined]);
    return body.data;
  };
  const update = (contactId: string, city: string) => post('contact.update-contact', { contactId, city });

  const CASES: Case[] = [
    ['left alone', false, () => Promise.resolve()],
    ['in the file twice', false, () => Promise.resolve()],
    ['updated with equal values', false, (contactId) => update(contactId, 'Bern')],
    ['imported again with equal values', false, (_, email) => imported(text('email,city', `${email},Bern`))],
    ['changed', true, (contactId) => update(contactId, 'Basel')],
    ['unsubscribed', true, (contactId) => post('contact.update-contact', { contactId, subscribed: false })],
    [
      'with a new proof of consent',
      true,
      (contactId) =>
        post('contact.update-contact', { contactId, subscribed: true, consent: { source: 'Phone call' } }),
    ],
    [
      'tagged',
      true,
      async (contactId) =>
        post('tag.add-contacts', {
          ...(await post('tag.create-tag', { name: 'Later' })),
          contactIds: [contactId],
        }),
    ],
    [
      'added to a list',
      true,
      async (contactId) =>
        post('list.add-contacts', {
          ...(await post('list.create-list', { name: 'Later' })),
          contactIds: [contactId],
        }),
    ],
    ['signed', true, (contactId) => post('petition.add-signature', { petitionId, contactId })],
    [
      'signed on the page of the petition, not confirmed yet',
      true,
      (_, email) =>
        api.instances[0]!.app.get(OperationRunner).execute(
          inputOf(
            RequestSignature,
            {
              ...{ petitionId, email, firstName: 'Ada', lastName: null, zip: null, country: null },
              ...{ comment: null, isCommentPublic: false, subscribe: false, source: null },
              ...{ clientAddress: null, suspicion: [] },
            },
            systemContext(client.organizationId, 'test'),
          ),
        ),
    ],
    ['noted', true, (contactId) => post('note.create-note', { contactId, text: 'Called' })],
    ['bounced', true, (_, email) => post('suppression.create-suppression', { email, reason: 'BOUNCED' })],
    [
      'with a duplicate',
      true,
      async (contactId, email) => {
        const other = await post('contact.create-contact', {
          organizationId: client.organizationId,
          email: `x${email}`,
        });
        await post('contact.merge-contacts', { contactId, otherIds: [other.contactId] });
      },
    ],
  ];

  it('deletes the contacts that the import created and that have not changed since', async () => {
    const emailOf = (n: number) => `p${n}@example.org`;
    // These existed before.
    await imported(text('email,city', 'before@example.org,London', 'same@example.org,Bern'));
    const rows = CASES.map((_, n) => `${emailOf(n)},Bern,Donor,People,2024-05-31`);
    const done = await imported(
      text(
        'email,city,tags,lists,opt-in time',
        ...rows,
        `${emailOf(1)},Zug,,,`,
        'before@example.org,Oxford,,,',
        'same@example.org,Bern,,,',
      ),
      { query: { onConflict: 'update' } },
    );
    expect(counts(done)).toEqual([CASES.length + 3, CASES.length, 2, 1, 0]);
    expect(done.undo).toBeNull();
    const outcomes = await linesOf('import.get-import-rows', done.id);
    for (const [n, [, , change]] of CASES.entries()) await change(outcomes[n].contactId, emailOf(n));
    const kept = CASES.flatMap(([, isKept], n) => (isKept ? [emailOf(n)] : []));

    const undo = await undone(done.id);
    expect(undo).toEqual({
      status: 'DONE',
      deleted: CASES.length - kept.length,
      kept: kept.length,
      startedAt: expect.stringMatching(ISO),
      finishedAt: expect.stringMatching(ISO),
      failure: null,
    });
    expect(new Set((await contacts()).map(({ email }) => email))).toEqual(
      new Set([...kept, 'before@example.org', 'same@example.org']),
    );
    const erased = (await api.eventTypes(client.organizationId)).filter((type) => type === 'ContactErased');
    // The merged duplicate was not part of the import.
    expect(erased).toHaveLength(undo.deleted + 1);
    const { data: history } = (
      await client.get('history.list-events', {
        ...{ requestId: done.id, type: 'ContactErased', limit: '100' },
      })
    ).body;
    expect(history).toHaveLength(undo.deleted);
    expect(await linesOf('import.get-import-rows', done.id)).toEqual(outcomes);
    expect((await client.get('petition.get-petition', { petitionId })).body.data.signatures).toBe(1);

    // Again, it changes nothing.
    const again = await client.post('import.undo-import', { importId: done.id });
    expect([again.status, again.body.data.undo]).toEqual([200, undo]);
    const { data: listed } = (await client.get('import.list-imports')).body;
    expect(listed.find(({ id }: any) => id === done.id).undo).toEqual(undo);
  });

  it('of an import that created nothing deletes nothing; of an old one, it returns 409 with the time', async () => {
    const dry = await imported(text('email', 'a@example.org'), { query: { dryRun: 'true' } });
    expect(await undone(dry.id)).toMatchObject({ status: 'DONE', deleted: 0, kept: 0 });
    const gone = await imported(text('email', 'a@example.org'));
    const [{ id: contactId }] = await contacts();
    await client.delete('contact.delete-contact', { contactId });
    expect(await undone(gone.id)).toMatchObject({ status: 'DONE', deleted: 0, kept: 1 });

    const { id: importId } = await imported(text('email', 'b@example.org'));
    await api.database.source.query(
      `UPDATE contact_imports SET finished_at = finished_at - interval '24 hours' WHERE id = $1`,
      [importId],
    );
    const { status, body } = await client.post('import.undo-import', { importId });
    expect([status, body.error.reason]).toEqual([409, 'UNDO_EXPIRED']);
    expect(body.error.message).toContain((await find(importId)).finishedAt);
    expect(await contacts()).toHaveLength(1);
    const stranger = await api.organization();
    expect((await stranger.post('import.undo-import', { importId })).status).toBe(404);
  });

  it('of an import that ends during the request is accepted', async () => {
    const { id: importId } = await imported(text('email', 'c@example.org'));
    const { source } = api.instances[0]!.runtime;
    const setStatus = (status: string) =>
      api.database.source.query(
        `UPDATE contact_imports SET status = $2, lease_expires_at = 'infinity' WHERE id = $1`,
        [importId, status],
      );
    await setStatus('RUNNING');
    const query = source.query.bind(source);
    const spy = jest.spyOn(source, 'query').mockImplementation(async (statement, ...parameters) => {
      const result = await query(statement, ...parameters);
      if (String(statement).includes("undo_status = 'QUEUED', undo_user_id")) {
        spy.mockRestore();
        await setStatus('DONE');
      }
      return result;
    });
    const { status, body } = await client.post('import.undo-import', { importId });
    expect([status, body.error]).toEqual([200, undefined]);
  });

  longIt('of a cancelled import stops when its key is revoked, and continues with another key', async () => {
    const people = Array.from({ length: 4_000 }, (_, n) => `p${n}@example.org,Bern`);
    const { body } = await send(text('email,city', ...people), { query: { subscribed: 'true' } });
    const { importId } = body.data;
    const early = await client.post('import.undo-import', { importId });
    expect([early.status, early.body.error.reason]).toEqual([409, 'IMPORT_UNFINISHED']);
    await eventually(async () => expect((await find(importId)).rows).toBeGreaterThan(1_500));
    await client.post('import.cancel-import', { importId });
    const { created } = await ended(importId);

    const { id: apiKeyId, key } = await api.createKey(client.organizationId, { rateLimit: 1_000 });
    const by = new Client(api.origin, client.organizationId, key);
    await by.post('import.undo-import', { importId });
    await eventually(async () => expect((await find(importId)).undo.deleted).toBeGreaterThan(0));
    await client.delete('api-key.revoke-api-key', { apiKeyId });
    await eventually(async () =>
      expect((await find(importId)).undo).toMatchObject({
        status: 'FAILED',
        failure: 'The API key that undid this import has expired or was revoked.',
      }),
    );
    expect((await contacts()).length).toBeGreaterThan(0);
    expect(await undone(importId)).toMatchObject({
      status: 'DONE',
      deleted: created,
      kept: 0,
      failure: null,
    });
    expect(await contacts()).toEqual([]);
  });

  it('keeps each contact that is changed, or that signs, before its turn', async () => {
    const count = isLong ? 400 : 120;
    const people = Array.from({ length: count }, (_, n) => `p${n}@example.org,Bern`);
    const done = await imported(text('email,city', ...people));
    const outcomes = await linesOf('import.get-import-rows', done.id);
    // The undo begins in the middle of these requests to both instances.
    const instances = api.instances.map(({ origin }) => client.at(origin));
    let undoing: Promise<any> | undefined;
    const results: { contactId: string; status: number; isSigned: boolean }[] = [];
    await inParallel(count, 8, async (n) => {
      if (n === Math.floor(count / 4)) undoing = undone(done.id);
      // From the end of the file, while the undo begins at its start.
      const { contactId } = outcomes[count - 1 - n];
      const by = instances[n % instances.length]!;
      const isSigned = n % 4 < 2;
      const { status } = isSigned
        ? await by.post('petition.add-signature', { petitionId, contactId })
        : await by.post('contact.update-contact', { contactId, city: 'Basel' });
      results.push({ contactId, status, isSigned });
    });
    const undo = await undoing!;
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set([200, 404]));
    const changed = results.filter(({ status }) => status === 200);
    expect([undo.kept, undo.deleted]).toEqual([changed.length, count - changed.length]);
    const { data: petition } = (await client.get('petition.get-petition', { petitionId })).body;
    const signed = changed.filter(({ isSigned }) => isSigned);
    expect(petition.signatures).toBe(signed.length);
    const { organizationId } = client;
    for (const { contactId, status } of results.slice(-40))
      expect((await client.get('contact.get-contact', { organizationId, contactId })).status).toBe(status);
  });
});

longDescribe('if an instance is killed in the middle', () => {
  it('another one finishes the import and the undo: each row exactly once, with exact counts', async () => {
    const deployment = await Deployment.create();
    const organization = await deployment.organization();
    const { source } = deployment.database;
    const countOf = async (type: string) => {
      const [{ count }] = await source.query(
        'SELECT count(*)::int AS count FROM events WHERE organization_id = $1 AND type = $2',
        [organization.organizationId, type],
      );
      return count;
    };
    /** Starts an instance that may continue the work of a killed one immediately. */
    const startAnother = async () => {
      const server = await deployment.startServer();
      await source.query('UPDATE contact_imports SET lease_expires_at = clock_timestamp()');
      return { server, by: organization.at(server.origin) };
    };
    const first = await deployment.startServer();
    const by = organization.at(first.origin);
    const count = isLong ? 12_000 : 2_200;
    // Each tenth person is in the file twice, with other details: once created, once updated.
    const rows = Array.from({ length: count }, (_, n) => [
      `p${n}@example.org,City ${n}`,
      ...(n % 10 === 0 ? [`P${n}@example.org,Town ${n}`] : []),
    ]).flat();
    const file = text('email,city', ...rows, 'nobody,');
    const { body } = await send(file, { by, query: { subscribed: 'false', onConflict: 'update' } });
    const { importId } = body.data;
    await eventually(async () => expect((await find(importId, by)).rows).toBeGreaterThan(0));
    await first.end('SIGKILL');

    const second = await startAnother();
    const done = await ended(importId, second.by);
    expect([done.status, done.failure]).toEqual(['DONE', null]);
    expect(counts(done)).toEqual([rows.length + 1, count, count / 10, 0, 1]);
    expect([await countOf('ContactCreated'), await countOf('ContactUpdated')]).toEqual([count, count / 10]);
    const { body: outcomes } = await second.by.get('import.get-import-rows', { importId });
    const lines = (outcomes as string).trimEnd().split('\n');
    expect(new Set(lines.map((line) => JSON.parse(line).line)).size).toBe(rows.length + 1);

    const changed = (await second.by.get('contact.list-contacts', { limit: '1' })).body.data[0].id;
    const { listId } = (await second.by.post('list.create-list', { name: 'Later' })).body.data;
    await second.by.post('list.add-contacts', { listId, contactIds: [changed] });
    await second.by.post('import.undo-import', { importId });
    await eventually(async () => expect((await find(importId, second.by)).undo.deleted).toBeGreaterThan(0));
    await second.server.end('SIGKILL');
    // Earlier versions leave it alone.
    expect(await source.query('SELECT status, undo_status FROM contact_imports')).toEqual([
      { status: 'DONE', undo_status: 'RUNNING' },
    ]);

    const third = await startAnother();
    await eventually(async () => expect((await find(importId, third.by)).undo.status).toBe('DONE'));
    expect((await find(importId, third.by)).undo).toMatchObject({ deleted: count - 1, kept: 1 });
    expect(await countOf('ContactErased')).toBe(count - 1);
    expect((await third.by.get('contact.list-contacts')).body.data.map((one: any) => one.id)).toEqual([
      changed,
    ]);
    await deployment.stop();
  });

  it('an import that an instance of the version before has begun is finished', async () => {
    const own = await Api.start();
    const by = await own.organization();
    const editor = await signedIn(own, by, 'EDITOR');
    const path = `/dashboard/${by.organizationId}/contacts/import`;
    const file = { field: 'file', name: 'people.csv', type: CSV, content: text('email', 'a@example.org') };
    const { location } = await editor.upload(path, file, { onConflict: 'fail' });
    const id = location!.split('/').at(-1)!;
    // As 0.4.0 stores it: chunks that are not compressed, and a plan without what it does not know.
    const { source } = own.database;
    const keyring = new Keyring(Buffer.alloc(32, 7));
    await keyring.openFor(source);
    const [{ wrapped_key: wrapped, about }] = await source.query('SELECT * FROM contact_imports');
    const key = keyring.unwrap(wrapped, id);
    const plan = JSON.parse(openBytes(key, about, `${id} about`).toString());
    const theirs = { ...plan, isCompressed: undefined, agreed: true };
    await source.query('UPDATE contact_import_chunks SET sealed = $1', [
      sealBytes(key, Buffer.from(file.content), `${id} 0`),
    ]);
    await source.query(
      `UPDATE contact_imports SET status = 'RUNNING', about = $1, kept_until = NULL, bytes = 0,
         leased_until = clock_timestamp() - interval '1 second'`,
      [sealBytes(key, Buffer.from(JSON.stringify(theirs)), `${id} about`)],
    );
    own.startWorkers();
    const done = await ended(id, by);
    expect([done.status, ...counts(done)]).toEqual(['DONE', 1, 1, 0, 0, 0]);
    await own.stop();
  });
});
