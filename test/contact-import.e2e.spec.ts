import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { once } from 'node:events';
import { join } from 'node:path';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { type Answer, Api, Client, DatabaseGate, NOBODY } from './harness.js';
import { Deployment, eventually } from './processes.js';
import { isLong, longIt } from './length.js';

let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start({ instances: 2 });
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

const NDJSON = 'application/x-ndjson';
const CSV = 'text/csv';

type Options = { type?: string; query?: Record<string, string>; headers?: Record<string, string> };

function importInto(
  caller: Client,
  body: string | Uint8Array<ArrayBuffer>,
  { type = NDJSON, query = {}, headers = {} }: Options = {},
): Promise<Answer> {
  const path = `/v1/contact.import-contacts?${new URLSearchParams({ subscribed: 'true', ...query }).toString()}`;
  return caller.request('POST', path, body, { 'Content-Type': type, ...headers });
}
const send = (body: string | Uint8Array<ArrayBuffer>, options?: Options) => importInto(client, body, options);
const lines = (...contacts: object[]) => contacts.map((contact) => `${JSON.stringify(contact)}\n`).join('');

/** The expected response of an import with only these failures. */
function done(counts: object, failed: [number, unknown][] = []) {
  return {
    data: {
      created: 0,
      updated: 0,
      unchanged: 0,
      ...counts,
      failed: failed.map(([line, message]) => ({ line, message })),
      failedCount: failed.length,
    },
    object: 'import',
  };
}

async function contacts(caller = client): Promise<any[]> {
  const { body } = await caller.get('contact.list-contacts', { limit: '100', sort: 'email' });
  return body.data;
}
const emails = async () => (await contacts()).map(({ email }) => email);

describe('import-contacts', () => {
  it.each([
    [
      NDJSON,
      lines(
        { email: ' ada@example.org', firstName: 'Ada', bio: 'Line 1\nLine 2', subscribed: false, zip: null },
        { email: 'grace@example.org', city: '' },
      ),
    ],
    [
      CSV,
      'bio,email,subscribed,firstName\r\n"Line 1\nLine 2",ada@example.org,false,Ada\r\n,grace@example.org,,',
    ],
    [
      `${CSV}; charset=UTF-8`,
      '\uFEFF"email",firstName,bio,subscribed\n\nada@example.org,Ada,"Line 1\nLine 2",false\ngrace@example.org,,,',
    ],
  ])('returns 200 for %s and imports every contact with its details', async (type, body) => {
    const { status, body: answer } = await send(body, { type });
    expect([status, answer]).toEqual([200, done({ created: 2 })]);
    const [ada, grace] = await contacts();
    expect(ada).toMatchObject({
      email: 'ada@example.org',
      firstName: 'Ada',
      bio: 'Line 1\nLine 2',
      subscribed: false,
      zip: null,
      organizationId: client.organizationId,
    });
    expect(grace).toMatchObject({ email: 'grace@example.org', subscribed: true, city: null });
  });

  it('returns 200 without contacts for an empty NDJSON stream and for a CSV header only', async () => {
    expect((await send('\n')).body).toEqual(done({}));
    expect((await send('email\n', { type: CSV })).body).toEqual(done({}));
  });

  it('reports a repeated body as unchanged in both modes, without an event', async () => {
    const body = lines({ email: 'ada@example.org', firstName: 'Ada' }, { email: 'grace@example.org' });
    await send(body);
    const before = await api.eventTypes(client.organizationId);
    for (const onConflict of ['fail', 'update']) {
      expect((await send(body, { query: { onConflict } })).body).toEqual(done({ unchanged: 2 }));
    }
    const less = lines({ email: 'ADA@example.org', lastName: null, bio: '' });
    expect((await send(less)).body).toEqual(done({ unchanged: 1 }));
    expect(await api.eventTypes(client.organizationId)).toEqual(before);
  });

  it('reports a line whose contact has different details, and imports the others', async () => {
    await send(lines({ email: 'ada@example.org', firstName: 'Ada' }));
    const { body } = await send(
      lines({ email: 'ada@example.org', firstName: 'Augusta' }, { email: 'grace@example.org' }),
    );
    const conflict = expect.stringMatching(
      /^Another contact in your organization already has this email address\. /,
    );
    expect(body).toEqual(done({ created: 1 }, [[1, conflict]]));
    expect((await contacts())[0]).toMatchObject({ firstName: 'Ada' });
  });

  it('merges with onConflict=update: clears no field, and resubscribes no one', async () => {
    await send(lines({ email: 'Ada@example.org', firstName: 'Ada', city: 'London', subscribed: false }));
    const query = { onConflict: 'update' };
    const merge = lines({ email: 'ada@example.org', firstName: 'Augusta', city: null, zip: '1' });
    expect((await send(merge, { query })).body).toEqual(done({ updated: 1 }));
    expect(await contacts()).toEqual([
      expect.objectContaining({
        email: 'Ada@example.org',
        firstName: 'Augusta',
        city: 'London',
        zip: '1',
        subscribed: false,
      }),
    ]);
    const again = lines({ email: 'ada@example.org', subscribed: true });
    for (const onConflict of ['fail', 'update'])
      expect((await send(again, { query: { onConflict } })).body).toEqual(done({ unchanged: 1 }));
    expect((await contacts())[0].subscribed).toBe(false);
    // A "no" is imported.
    await send(lines({ email: 'grace@example.org' }));
    await send('email,status\ngrace@example.org,Unsubscribed\n', { type: CSV, query });
    expect((await contacts())[1].subscribed).toBe(false);
  });

  it('applies several lines about one contact in order', async () => {
    const steps = Array.from({ length: 30 }, (_, n) => ({
      email: n % 2 ? 'ada@example.org' : 'ADA@example.org',
      firstName: `Name ${n}`,
    }));
    const { body } = await send(lines(...steps), { query: { onConflict: 'update' } });
    expect(body).toEqual(done({ created: 1, updated: 29 }));
    expect(await contacts()).toEqual([expect.objectContaining({ firstName: 'Name 29' })]);

    const twice = lines({ email: 'grace@example.org', city: 'A' }, { email: 'grace@example.org', city: 'B' });
    expect((await send(twice)).body).toEqual(done({ created: 1 }, [[2, expect.stringMatching(/^Another/)]]));
  });

  it('reports each invalid line without its data, and loses no valid one', async () => {
    const good = (n: number) => JSON.stringify({ email: `good-${n}@example.org` });
    const bad: [string | Buffer, RegExp][] = [
      ['{"email":"secret@example.org"', /^is not a JSON object$/],
      ['["secret@example.org"]', /^is not a JSON object$/],
      ['{"email":"secret"}', /^email must be an email address, like ada@example\.org$/],
      ['{"firstName":"secret"}', /^email is required$/],
      ['{"email":null}', /^email must not be null$/],
      ['{"email":"secret@example.org","nickname":"secret"}', /^nickname is not a field of this operation$/],
      ['{"email":"secret@example.org","secret@x":1}', /^A field is not a field of this operation$/],
      ['{"email":"secret@example.org","subscribed":"secret"}', /^subscribed must be true or false$/],
      [`{"email":"secret@example.org","city":"${'secret'.repeat(100)}"}`, /^city must have at most 500/],
      ['{"email":"secret@example.org","city":"secret\\u0000"}', /^city must not contain NUL/],
      [Buffer.from('{"email":"secret@example.org","city":"\xe9"}', 'latin1'), /^is not valid UTF-8$/],
      [`{"email":"secret@example.org","bio":"${'secret'.repeat(200_000)}"}`, /^is longer than 1 MiB$/],
      [`{"email":"secret@example.org","organizationId":"${NOBODY}"}`, /^organizationId does not match/],
    ];
    const parts = bad.flatMap(([line], n) => [
      Buffer.from(good(n)),
      Buffer.from('\n'),
      Buffer.from(line),
      Buffer.from('\n'),
    ]);
    const { status, body } = await send(new Uint8Array(Buffer.concat(parts)));
    expect(status).toBe(200);
    expect(body).toEqual(
      done(
        { created: bad.length },
        bad.map(([, message], n) => [2 * n + 2, expect.stringMatching(message)]),
      ),
    );
    expect(JSON.stringify(body)).not.toContain('secret');
    expect(await emails()).toHaveLength(bad.length);
  });

  it('reports each invalid CSV record by its first line', async () => {
    const text = [
      'email,firstName,subscribed',
      'a@example.org,"two\nlines",true',
      'secret@example.org,secret',
      'secret@example.org,secret,maybe',
      'b@example.org,"secret,true',
      'c@example.org,,',
      'd@example.org,"two\nlines",',
    ].join('\n');
    const { body } = await send(text, { type: CSV });
    expect(body).toEqual(
      done({ created: 3 }, [
        [4, 'has 2 cells, but the header has 3'],
        [5, expect.stringMatching(/^subscribed must be yes or no, or a status such as subscribed/)],
        [6, expect.stringMatching(/^has a quote that is not closed/)],
      ]),
    );
    expect(await emails()).toEqual(['a@example.org', 'c@example.org', 'd@example.org']);
  });

  it('lists the first 100 failed lines and counts all', async () => {
    const { body } = await send('x\n'.repeat(250));
    expect(body.data.failed).toHaveLength(100);
    expect(body.data.failed[99].line).toBe(100);
    expect(body.data.failedCount).toBe(250);
  });

  it('ignores exported columns that cannot be imported', async () => {
    const { organizationId } = client;
    const row = { id: NOBODY, createdAt: 'x', updatedAt: null, email: 'ada@example.org', organizationId };
    expect((await send(lines(row))).body).toEqual(done({ created: 1 }));
    expect((await contacts())[0].id).not.toBe(NOBODY);
  });

  it('imports more than a page, and another instance returns every contact immediately', async () => {
    const many = Array.from({ length: 450 }, (_, n) => ({ email: `person-${n}@example.org` }));
    expect((await send(lines(...many))).body).toEqual(done({ created: 450 }));
    const other = client.at(api.instances[1]!.origin);
    const { status, body } = await other.get('contact.list-contacts', { email: 'person-449@example.org' });
    expect([status, body.data]).toEqual([200, [expect.objectContaining({ subscribed: true })]]);
  });

  it('creates each contact once when two instances import the same people in parallel', async () => {
    const many = lines(...Array.from({ length: 450 }, (_, n) => ({ email: `person-${n}@example.org` })));
    const answers = await Promise.all(api.instances.map(({ origin }) => importInto(client.at(origin), many)));
    expect(answers.map(({ body }) => body.error)).toEqual([undefined, undefined]);
    const counts = answers.map(({ body }) => body.data);
    expect(counts[0].created + counts[1].created).toBe(450);
    expect(counts[0].unchanged + counts[1].unchanged).toBe(450);
    const types = await api.eventTypes(client.organizationId);
    expect(types.filter((type) => type === 'ContactCreated')).toHaveLength(450);
  });

  it('returns 400 if columns only state refusals, because the others may not have agreed either', async () => {
    const path = '/v1/contact.import-contacts';
    const { status, body } = await client.request('POST', path, 'email,Unsubscribed\na@example.org,no\n', {
      'Content-Type': 'text/csv',
    });
    expect([status, body.error.issues]).toEqual([
      400,
      [
        {
          path: 'subscribed',
          message:
            'is missing: the columns only state who does not want email. Send subscribed=true if these people have agreed ' +
            'to get email, subscribed=false if not',
        },
      ],
    ]);
  });

  it('returns 400 naming an invalid CSV header, and imports nothing', async () => {
    const mistakes: [string, string][] = [
      ['email,nickname', 'nickname'],
      ['email,city,email', 'email'],
      ['firstName,city', 'email'],
      ['email,', 'Column 2'],
      ['"email', 'The header'],
    ];
    for (const [header, path] of mistakes) {
      const { status, body } = await send(`${header}\na@example.org,b,c\n`, { type: CSV });
      expect([header, status, body.error?.issues[0].path]).toEqual([header, 400, path]);
      expect(body.error.message).toContain(path);
    }
    expect(await emails()).toEqual([]);
  });

  it.each([
    ['an unknown parameter', { lines: '3' }, 'lines'],
    ['an unknown onConflict', { onConflict: 'merge' }, 'onConflict'],
  ])('returns 400 for %s', async (_, query, path) => {
    const { status, body } = await send(lines({ email: 'ada@example.org' }), { query: query });
    expect([status, body.error.issues[0].path]).toEqual([400, path]);
    expect(await emails()).toEqual([]);
  });

  it('returns 400 without a body', async () => {
    const { status, body } = await client.request('POST', '/v1/contact.import-contacts', '', {
      'Content-Type': CSV,
    });
    expect([status, body.error.message]).toEqual([
      400,
      'The request has no body: send application/x-ndjson or text/csv.',
    ]);
  });

  it.each([
    ['JSON', { type: 'application/json' }],
    ['another charset', { type: `${CSV}; charset=latin1` }],
    ['an unknown compression', { headers: { 'Content-Encoding': 'br' } }],
  ])('returns 415 for %s', async (_, options) => {
    const { status, body } = await send(lines({ email: 'ada@example.org' }), options);
    expect([status, body.error.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    expect(body.error.message).toContain('application/x-ndjson or text/csv');
  });

  it('accepts a body that is compressed with gzip', async () => {
    const body = new Uint8Array(gzipSync('email\nzipped@example.org\n'));
    const answer = await send(body, { type: CSV, headers: { 'Content-Encoding': 'gzip' } });
    expect([answer.status, answer.body.data.created]).toEqual([200, 1]);
  });

  it('returns 401 without a key, 403 without the scope or for another organization, and 404 for an unknown list', async () => {
    const body = lines({ email: 'ada@example.org' });
    const { organizationId } = client;
    const { key } = await api.createKey(organizationId, { scopes: ['contact:read'] });
    const answers = [
      await importInto(new Client(api.origin, '', undefined), body),
      await importInto(new Client(api.origin, organizationId, key), body),
      await send(body, { query: { organizationId: NOBODY } }),
    ];
    expect(answers.map(({ status, body }) => [status, body.error.code])).toEqual([
      [401, 'UNAUTHORIZED'],
      [403, 'INSUFFICIENT_PERMISSIONS'],
      [403, 'FORBIDDEN'],
    ]);
    const stranger = await api.organization();
    expect((await importInto(stranger, body)).body).toEqual(done({ created: 1 }));
    expect(await emails()).toEqual([]);
  });

  it('returns 400 for an invalid header while the body is still being sent', async () => {
    const endless = request(`${api.origin}/v1/contact.import-contacts`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${client.key}`, 'Content-Type': CSV },
    });
    endless.on('error', () => undefined);
    endless.write('nickname\n');
    const sending = setInterval(() => endless.write('x'.repeat(64 * 1024)), 5);
    const [response] = await once(endless, 'response');
    expect(response.statusCode).toBe(400);
    clearInterval(sending);
    endless.destroy();
  });
});

describe('import-contacts with an Idempotency-Key', () => {
  it('returns the first response to the same body even after the contacts have changed', async () => {
    const headers = { 'Idempotency-Key': 'import-1' };
    const body = `${lines({ email: 'ada@example.org' }, { email: 'grace@example.org' })}rubbish\n`;
    const first = await send(body, { headers });
    expect(first.body).toEqual(done({ created: 2 }, [[3, 'is not a JSON object']]));
    const [ada] = await contacts();
    await client.delete('contact.delete-contact', { contactId: ada.id });
    const before = await api.eventTypes(client.organizationId);

    const again = await importInto(client.at(api.instances[1]!.origin), body, { headers });
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect(await api.eventTypes(client.organizationId)).toEqual(before);
    expect((await send(body, { headers: { 'Idempotency-Key': 'import-2' } })).body.data.created).toBe(1);
  });

  it('returns 422 for a different body, query or type', async () => {
    const headers = { 'Idempotency-Key': 'import' };
    const body = lines({ email: 'ada@example.org' });
    await send(body, { headers });
    const others = [
      await send(`${body}\n`, { headers }),
      await send(body, { headers, query: { onConflict: 'update' } }),
      await send(`email\n`, { headers, type: CSV }),
    ];
    expect(others.map(({ status, body }) => [status, body.error.code])).toEqual(
      others.map(() => [422, 'IDEMPOTENCY_KEY_REUSED']),
    );
    expect((await send(body, { headers, query: { onConflict: 'fail' } })).body).toEqual(done({ created: 1 }));
  });

  it('returns the same response to two identical requests in parallel', async () => {
    const headers = { 'Idempotency-Key': 'twins' };
    const many = lines(...Array.from({ length: 450 }, (_, n) => ({ email: `person-${n}@example.org` })));
    const [one, two] = await Promise.all(
      api.instances.map(({ origin }) => importInto(client.at(origin), many, { headers })),
    );
    expect(two!.body).toEqual(one!.body);
  });

  it('does not use up the key if the import fails', async () => {
    const headers = { 'Idempotency-Key': 'failed' };
    expect((await send('nickname\n', { type: CSV, headers })).status).toBe(400);
    expect((await send('email\na@example.org\n', { type: CSV, headers })).body).toEqual(done({ created: 1 }));
  });
});

describe('import-contacts into a list', () => {
  it('adds every contact of the file, and checks the list before it reads', async () => {
    const { listId } = (await client.post('list.create-list', { name: 'A' })).body.data;
    await send(lines({ email: 'old@example.org', city: 'A' }, { email: 'same@example.org' }));
    const body = lines(
      { email: 'new@example.org' },
      { email: 'same@example.org' },
      { email: 'old@example.org', city: 'B' },
      { email: 'bad' },
    );
    const query = { listId, onConflict: 'update' };
    expect((await send(body, { query })).body.data).toMatchObject({ created: 1, updated: 1, unchanged: 1 });
    const members = (await client.get('contact.list-contacts', { listId })).body.data;
    expect(members.map(({ id }: { id: string }) => id).sort()).toEqual(
      (await contacts()).map(({ id }) => id).sort(),
    );
    expect((await client.get('list.get-list', { listId })).body.data.contacts).toBe(3);

    const { status } = await send(lines({ email: 'late@example.org' }), { query: { listId: NOBODY } });
    expect([status, await emails()]).toEqual([404, expect.not.arrayContaining(['late@example.org'])]);
  });

  it('continues when contacts of the file are erased during the import', async () => {
    const { listId } = (await client.post('list.create-list', { name: 'A' })).body.data;
    const count = isLong ? 2_000 : 1_000;
    const many = Array.from({ length: count }, (_, n) => ({ email: `erased-${n}@example.org` }));
    let running = true;
    const importing = send(lines(...many), { query: { listId } }).finally(() => (running = false));
    while (running) {
      const { body } = await client.get('contact.list-contacts', { limit: '5' });
      await Promise.all(
        body.data.map(({ id }: { id: string }) => client.delete('contact.delete-contact', { contactId: id })),
      );
    }
    expect(await importing).toMatchObject({ status: 200, body: { data: { created: count } } });
    const { body } = await client.get('list.get-list', { listId });
    const remaining = await api.database.source.query(
      `SELECT count(*)::int FROM contacts_v5.contacts WHERE organization_id = $1`,
      [client.organizationId],
    );
    expect(body.data.contacts).toBe(remaining[0].count);
  });
});

describe('the subscriptions after import-contacts', () => {
  const CASES = join(import.meta.dirname, 'imported-files');
  const states = async () => (await contacts()).map(({ email, subscribed }) => [email, subscribed]);
  const text = (...rows: string[]) => `${rows.join('\n')}\n`;

  it.each([
    [CSV, text('email', 'a@example.org')],
    [CSV, text('email,unsubscribed', 'a@example.org,')],
    [NDJSON, lines({ email: 'a@example.org' }, { email: 'b@example.org', subscribed: true })],
  ])('%s: returns 400 without a subscription default, and imports nothing', async (type, body) => {
    const path = '/v1/contact.import-contacts';
    const { status, body: answer } = await client.request('POST', path, body, { 'Content-Type': type });
    expect([status, answer.error.issues[0].path]).toEqual([400, 'subscribed']);
    expect(answer.error.message).toMatch(/subscribed=true if these people have agreed/);
    expect(await emails()).toEqual([]);
  });

  it('a 400 lists everything that is missing', async () => {
    const bytes = new Uint8Array(readFileSync(join(CASES, 'civicrm.csv')));
    const path = '/v1/contact.import-contacts';
    const { status, body } = await client.request('POST', path, bytes, { 'Content-Type': CSV });
    const paths = body.error.issues.map((issue: { path: string }) => issue.path);
    expect([status, paths]).toEqual([400, expect.arrayContaining(['Contact ID', 'Group(s)', 'subscribed'])]);
    expect(body.error.message).toContain('To import the file without these columns, send unknown=ignore.');
  });

  it('a value in the line overrides the default of the import', async () => {
    const body = text('email,subscribed', 'a@example.org,yes', 'b@example.org,', 'c@example.org,no');
    const path = '/v1/contact.import-contacts';
    await client.request('POST', path, body, { 'Content-Type': CSV });
    expect(await states()).toEqual([
      ['a@example.org', true],
      ['b@example.org', false],
      ['c@example.org', false],
    ]);
    await send(lines({ email: 'd@example.org' }), { query: { subscribed: 'false' } });
    expect((await states())[3]).toEqual(['d@example.org', false]);
  });

  it.each(['Mailing consent', 'Newsletter 2024', 'Bitte keine Werbung (Widerspruch)'])(
    'returns 400 if unknown=ignore would leave out the consent column %s',
    async (column) => {
      const body = text(`email,Shoe size,${column}`, 'a@example.org,42,none');
      const { status, body: answer } = await send(body, { type: CSV, query: { unknown: 'ignore' } });
      expect([status, answer.error.issues]).toEqual([
        400,
        [{ path: column, message: expect.stringMatching(/^seems to state who is subscribed/) }],
      ]);
    },
  );

  it('rejects rows with a late "unsubscribed" in a column that is left out', async () => {
    const people = Array.from({ length: 300 }, (_, n) => `p${String(n).padStart(3, '0')}@example.org,member`);
    const body = text('email,Kind', ...people, 'z@example.org,Unsubscribed', 'zz@example.org,member');
    const answer = await send(body, { type: CSV, query: { unknown: 'ignore' } });
    expect(answer.body).toEqual(
      done({ created: 301 }, [[302, expect.stringMatching(/^has "Unsubscribed" in a column/)]]),
    );
  });

  it.each([
    ['Estado', ['SI', 'NO']],
    ['status', ['JA', 'AB', 'NO']],
    ['Mail ok?', ['ja', 'nein', 'unsicher']],
    ['Kontakt erlaubt', ['JA', 'NEIN']],
    ['Volunteer', ['yes', 'no']],
  ])('returns 400 if unknown=ignore would leave out the answers of %s', async (column, answers) => {
    const body = text(`email,${column}`, ...answers.map((answer, n) => `p${n}@example.org,${answer}`));
    const { status, body: answer } = await send(body, { type: CSV, query: { unknown: 'ignore' } });
    expect([status, answer.error.issues[0].path]).toEqual([400, column]);
    expect(await emails()).toEqual([]);
  });

  it('a "no" in capitals unsubscribes, also someone who was subscribed', async () => {
    await send(lines({ email: 'a@example.org', subscribed: true }));
    const body = text('email,status', 'a@example.org,NO', 'b@example.org,SI');
    await send(body, { type: CSV, query: { unknown: 'ignore', onConflict: 'update' } });
    expect(await states()).toEqual([
      ['a@example.org', false],
      ['b@example.org', true],
    ]);
  });

  it('a stray quotation mark gives no one the consent of another', async () => {
    const body = 'email,bio,subscribed\na@example.org,"note,no\nb@example.org,note",yes\nc@example.org,,no\n';
    const answer = await send(body, { type: CSV });
    expect(answer.body).toEqual(done({ created: 1 }, [[2, expect.stringContaining('another row')]]));
    expect(await states()).toEqual([['c@example.org', false]]);
  });

  it('a tag that states a refusal counts, unless a column states something else', async () => {
    const tags = text('email,tags', 'a@example.org,"vip, Unsubscribed"', 'b@example.org,vip');
    await send(tags, { type: CSV });
    const said = text('email,tags,subscribed', 'c@example.org,unsubscribed,yes', 'd@example.org,opted out,');
    await send(said, { type: CSV });
    await send(lines({ email: 'e@example.org', tags: ['Do not email'] }));
    expect(await states()).toEqual([
      ['a@example.org', false],
      ['b@example.org', true],
      ['c@example.org', true],
      ['d@example.org', false],
      ['e@example.org', false],
    ]);
  });

  it('a note or a custom field that states a refusal counts, unless a column states something else', async () => {
    await client.post('field.create-field', { name: 'Remarks', type: 'TEXT' });
    const table = text(
      'email,notes,Remarks',
      'a@example.org,Met at the fair. Bitte keine Mails!,',
      'b@example.org,,asked to be removed from our mailing list',
      'c@example.org,Wants the newsletter,ok',
    );
    await send(table, { type: CSV });
    await send(text('email,notes,subscribed', 'd@example.org,No emails please,yes'), { type: CSV });
    await send(lines({ email: 'e@example.org', bio: 'ne veut plus recevoir nos mails' }));
    expect(await states()).toEqual([
      ['a@example.org', false],
      ['b@example.org', false],
      ['c@example.org', true],
      ['d@example.org', true],
      ['e@example.org', false],
    ]);
  });

  it('a column that may state refusals does not become the custom field of its name', async () => {
    await client.post('field.create-field', { name: 'Sperrgrund', type: 'TEXT' });
    const table = text('email,Sperrgrund', 'a@example.org,ja', 'b@example.org,');
    const { status, body } = await send(table, { type: CSV });
    expect([status, body.error?.issues]).toEqual([
      400,
      [{ path: 'Sperrgrund', message: expect.stringMatching(/^seems to state/) }],
    ]);
    const map = JSON.stringify({ Sperrgrund: 'customFields.sperrgrund' });
    expect((await send(table, { type: CSV, query: { map } })).body).toEqual(done({ created: 2 }));
  });

  it('columns are used as mapped', async () => {
    const table = text('Kontakt,Keine Post,Status,Size', 'a@example.org,x,A,42', 'b@example.org,,U,43');
    const map = { Kontakt: 'email', 'Keine Post': 'optOut', Status: 'ignore', Size: 'ignore' };
    const query = { map: JSON.stringify(map) };
    expect((await send(table, { type: CSV, query })).body).toEqual(done({ created: 2 }));
    expect(await states()).toEqual([
      ['a@example.org', false],
      ['b@example.org', true],
    ]);
    const wrong: [string, string, string, string][] = [
      ['{"Size":"shoes"}', table, CSV, 'must map "Size" to one of'],
      ['{"Shoes":"ignore"}', table, CSV, 'names "Shoes", which is not a column. The columns are: Kontakt'],
      ['{"Size":"ignore"," Size":"bio"}', table, CSV, 'names "Size" twice'],
      ['[]', table, CSV, 'must be a JSON object'],
      ['{"Size":"ignore"}', lines({ email: 'c@example.org' }), NDJSON, 'is only for tables'],
    ];
    for (const [given, body, type, message] of wrong) {
      const { status, body: answer } = await send(body, { type, query: { map: given } });
      expect([status, answer.error?.issues]).toEqual([
        400,
        [{ path: 'map', message: expect.stringContaining(message) }],
      ]);
    }
  });

  it('all columns of a mapped name are used: a refusal in the second one counts', async () => {
    const table = text('email,Keine Post,Keine Post', 'a@example.org,,x', 'b@example.org,,');
    const query = { map: '{"Keine Post":"optOut"}' };
    expect((await send(table, { type: CSV, query })).body).toEqual(done({ created: 2 }));
    expect(await states()).toEqual([
      ['a@example.org', false],
      ['b@example.org', true],
    ]);
  });

  it.each(['Mail,Mail', 'email,Mail', 'Mail,email'])(
    'rejects two columns of addresses: %s',
    async (header) => {
      const table = text(header, 'c@example.org,d@example.org');
      const { status, body } = await send(table, { type: CSV, query: { map: '{"Mail":"email"}' } });
      const message = expect.stringMatching(/^is the second column used as email/);
      expect([status, body.error?.issues]).toEqual([400, [{ path: header.split(',')[1], message }]]);
    },
  );

  it('bounced addresses need suppression:write: without it, only their rows fail', async () => {
    const { key } = await api.createKey(client.organizationId, { scopes: ['contact:write'] });
    const weak = new Client(api.origin, client.organizationId, key);
    const body = text('email,status', 'a@example.org,active', 'b@example.org,bounced');
    expect((await importInto(weak, body, { type: CSV })).body).toEqual(
      done({ created: 1 }, [[3, expect.stringContaining('suppression:write')]]),
    );
  });
});

describe('import-contacts with a column of tags', () => {
  const tags = async (): Promise<any[]> =>
    (await client.get('tag.list-tags', { sort: 'name', limit: '100' })).body.data;
  /** The number of contacts of each tag, by its name. */
  const counts = async () => (await tags()).map(({ name, contacts }) => [name, contacts]);

  it.each([
    [
      CSV,
      'email,tags\nada@example.org,"Donor, Volunteer,Donor,"\ngrace@example.org,Donor\nrachel@example.org,\n',
    ],
    [
      NDJSON,
      lines(
        { email: 'ada@example.org', tags: ['Donor', ' Volunteer ', 'Donor'] },
        { email: 'grace@example.org', tags: 'Donor' },
        { email: 'rachel@example.org', tags: null },
        { email: 'wangari@example.org', tags: [], subscribed: null },
      ),
    ],
  ])('%s: uses existing tags, and creates each new tag once', async (type, body) => {
    const { tagId } = (await client.post('tag.create-tag', { name: 'Donor', description: 'First' })).body
      .data;
    await client.post('tag.create-tag', { name: 'Donor', description: 'Second' });
    const people = type === CSV ? 3 : 4;
    expect((await send(body, { type })).body).toEqual(done({ created: people }));
    const expected = [
      ['Donor', 2],
      ['Donor', 0],
      ['Volunteer', 1],
    ];
    expect(await counts()).toEqual(expect.arrayContaining(expected));
    expect((await client.get('tag.get-tag', { tagId })).body.data.contacts).toBe(2);
    const before = await api.eventTypes(client.organizationId);
    expect((await send(body, { type })).body).toEqual(done({ unchanged: people }));
    expect(await api.eventTypes(client.organizationId)).toEqual(before);
    expect(await tags()).toHaveLength(3);
    const more = lines({ email: 'rachel@example.org', tags: 'Baker' });
    expect((await send(more)).body).toEqual(done({ unchanged: 1 }));
    expect((await counts())[0]).toEqual(['Baker', 1]);
  });

  it('reads tag names that contain quotation marks, between commas, semicolons or pipes', async () => {
    const rows = ['"""VIP"",""Blog readers"""', 'alpha|beta', '"alpha; ""one, two""; beta"', 'Rock "n" roll'];
    const body = ['email,tags', ...rows.map((cell, n) => `${n}@example.org,${cell}`), ''].join('\n');
    expect((await send(body, { type: CSV })).body).toEqual(done({ created: 4 }));
    expect(await counts()).toEqual([
      ['Blog readers', 1],
      ['Rock "n" roll', 1],
      ['VIP', 1],
      ['alpha', 2],
      ['beta', 2],
      ['one, two', 1],
    ]);
  });

  it('creates many tags in one import, each with its contacts', async () => {
    const names = Array.from({ length: 100 }, (_, n) => `Tag ${String(n).padStart(2, '0')}`);
    const people = Array.from({ length: 5 }, (_, n) => ({
      email: `person-${n}@example.org`,
      tags: names.slice(n),
    }));
    expect((await send(lines(...people))).body).toEqual(done({ created: 5 }));
    expect(await counts()).toEqual(names.map((name, n) => [name, Math.min(n + 1, 5)]));
  });

  it('reports lines with invalid tag names, and creates no tag for them', async () => {
    const body = lines(
      { email: 'a@example.org', tags: ['x'.repeat(100)] },
      { email: 'b@example.org', tags: ['x'.repeat(101)] },
      { email: 'c@example.org', tags: ['Good', ' '] },
      { email: 'd@example.org', tags: ['Good', 1] },
      { email: 'e@example.org', tags: { name: 'Good' } },
      { email: 'f@example.org', tags: Array.from({ length: 101 }, (_, n) => `Good ${n}`) },
      { email: 'no address', tags: ['Good'] },
    );
    const names = (problem: string) => `tags must contain only names: one of them ${problem}`;
    expect((await send(body)).body).toEqual(
      done({ created: 1 }, [
        [2, names('must have at most 100 characters')],
        [3, names('must not be empty')],
        [4, names('must be a string')],
        [5, 'tags must be a list of at most 100 names'],
        [6, 'tags must be a list of at most 100 names'],
        [7, expect.stringMatching(/^email must be/)],
      ]),
    );
    expect(await counts()).toEqual([['x'.repeat(100), 1]]);
  });

  it('without tag:write, returns 403 for a CSV column before importing, and rejects each NDJSON line', async () => {
    const { key } = await api.createKey(client.organizationId, { scopes: ['contact:write'] });
    const weak = new Client(api.origin, client.organizationId, key);
    const { status, body } = await importInto(weak, 'email,tags\na@example.org,\n', { type: CSV });
    expect([status, body.error.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
    expect(await emails()).toEqual([]);

    const named = lines({ email: 'a@example.org', tags: 'Donor' }, { email: 'b@example.org', tags: [] });
    const refused = 'This API key lacks the scope tag:write, which `tags` needs. Use a key that has it.';
    expect((await importInto(weak, named)).body).toEqual(done({ created: 1 }, [[1, refused]]));
    expect([await emails(), await tags()]).toEqual([['b@example.org'], []]);
  });

  it('creates a tag once when two instances import it in parallel for the first time', async () => {
    const count = isLong ? 450 : 150;
    const bodies = ['a', 'b'].map((part) =>
      lines(
        ...Array.from({ length: count }, (_, n) => ({
          email: `${part}-${n}@example.org`,
          tags: ['All', `Every ${n % 3}`],
        })),
      ),
    );
    const answers = await Promise.all(
      api.instances.map(({ origin }, n) => importInto(client.at(origin), bodies[n]!)),
    );
    expect(answers.map(({ body }) => body)).toEqual([done({ created: count }), done({ created: count })]);
    expect(await counts()).toEqual([
      ['All', 2 * count],
      ['Every 0', (2 * count) / 3],
      ['Every 1', (2 * count) / 3],
      ['Every 2', (2 * count) / 3],
    ]);
  });

  it('continues when tags are deleted during the import, and creates them again for later lines', async () => {
    const body = lines(
      ...Array.from({ length: 1_200 }, (_, n) => ({ email: `person-${n}@example.org`, tags: 'Donor' })),
    );
    let running = true;
    const importing = send(body).finally(() => (running = false));
    let deleted = 0;
    while (running) {
      for (const { id } of await tags()) {
        await client.delete('tag.delete-tag', { tagId: id });
        deleted += 1;
      }
    }
    expect((await importing).body).toEqual(done({ created: 1_200 }));
    expect(deleted).toBeGreaterThan(0);
  });
});

describe('an interrupted import', () => {
  const person = (n: number) => ({
    email: `person-${n}@example.org`,
    lastName: `Example ${n}`,
    city: 'Lyon',
  });

  /** The number of people in a file, some of whom are in it twice. */
  const PEOPLE = isLong ? 1_500 : 750;

  async function count(deployment: Deployment, organizationId: string): Promise<number> {
    const [row] = await deployment.database.source.query(
      `SELECT count(*) FROM events WHERE organization_id = $1 AND type = 'ContactCreated'`,
      [organizationId],
    );
    return Number(row.count);
  }

  /** Begins an import with these lines and leaves it open, so that the test can interrupt it. */
  function begin(caller: Client, sent: string): ClientRequest {
    const begun = request(`${caller.origin}/v1/contact.import-contacts?subscribed=true`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${caller.key}`, 'Content-Type': NDJSON },
    });
    begun.on('error', () => undefined);
    begun.write(sent);
    return begun;
  }

  longIt('after kill -9, repeating the import gives the same result as one uninterrupted run', async () => {
    const deployment = await Deployment.create();
    const [killed, clean] = [await deployment.organization(), await deployment.organization()];
    const people = Array.from({ length: PEOPLE + 100 }, (_, n) => person(n % PEOPLE));
    const body = lines(...people);
    const first = await deployment.startServer();
    const lost = begin(killed.at(first.origin), lines(...people.slice(0, (PEOPLE * 2) / 3)));
    const answer = jest.fn();
    lost.on('response', answer);
    await eventually(async () => expect(await count(deployment, killed.organizationId)).toBeGreaterThan(0));
    await first.end('SIGKILL');
    await eventually(() => expect(lost.destroyed).toBe(true));
    expect(answer).not.toHaveBeenCalled();
    // PostgreSQL still commits what it was executing.
    await eventually(async () => {
      const active = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`;
      expect(await deployment.database.source.query(active)).toEqual([]);
    });
    const before = await count(deployment, killed.organizationId);
    expect(before).toBeLessThan(PEOPLE);

    const second = await deployment.startServer();
    const again = await importInto(killed.at(second.origin), body);
    expect(again.body).toEqual(done({ created: PEOPLE - before, unchanged: 100 + before }));
    const once = await importInto(clean.at(second.origin), body);
    expect(once.body).toEqual(done({ created: PEOPLE, unchanged: 100 }));

    const state = async (caller: Client) => {
      const { body } = await caller.at(second.origin).get('contact.export-contacts');
      const records = body
        .trimEnd()
        .split('\n')
        .map((line: string) => JSON.parse(line));
      return records
        .map(({ id, createdAt, updatedAt, version, organizationId, ...rest }: any) => JSON.stringify(rest))
        .sort();
    };
    expect(await state(killed)).toEqual(await state(clean));
    await deployment.stop();
  });

  longIt('if the client disconnects, finishes the current page and logs one line', async () => {
    const deployment = await Deployment.create();
    const caller = await deployment.organization();
    const server = await deployment.startServer();
    const aborted = begin(
      caller.at(server.origin),
      lines(...Array.from({ length: 3_000 }, (_, n) => person(n))),
    );
    await eventually(async () => expect(await count(deployment, caller.organizationId)).toBeGreaterThan(400));
    aborted.destroy();
    await eventually(() =>
      expect(server.log.filter(({ path }) => path === '/v1/contact.import-contacts')).toEqual([
        expect.objectContaining({ message: 'client aborted the request' }),
      ]),
    );
    const again = await importInto(
      caller.at(server.origin),
      lines(...Array.from({ length: 3_000 }, (_, n) => person(n))),
    );
    expect(again.body.data).toMatchObject({ failedCount: 0, updated: 0 });
    expect(await count(deployment, caller.organizationId)).toBe(3_000);
    const serious = server.log.filter(({ level }) => level === 'error' || level === 'warn');
    expect(serious).toEqual([]);
    await deployment.stop();
  });

  it('returns 503 if the database fails, keeps the imported contacts, and accepts the same file again', async () => {
    const gate = await DatabaseGate.before(api.database.url);
    const instance = await api.addInstance({ DATABASE_URL: gate.url });
    const people = Array.from({ length: PEOPLE }, (_, n) => person(n));
    const body = lines(...people);
    const running = begin(client.at(instance.origin), lines(...people.slice(0, (PEOPLE * 2) / 3)));
    const answered = once(running, 'response') as Promise<[IncomingMessage]>;
    await eventually(async () => expect((await contacts()).length).toBe(100));
    gate.shut();
    running.end(lines(...people.slice((PEOPLE * 2) / 3)));
    const [response] = await answered;
    const { error } = JSON.parse((await response.toArray()).join(''));
    expect([response.statusCode, error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    gate.open();
    const again = await importInto(client.at(api.origin), body);
    expect(again.body.data.created).toBeLessThan(PEOPLE);
    expect(again.body.data.created + again.body.data.unchanged).toBe(PEOPLE);
    await instance.life.drain(0);
    gate.stop();
  });
});
