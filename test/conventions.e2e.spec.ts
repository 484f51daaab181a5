import { Concurrency } from '#libs/rate-limit';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { type ErrorCode, isReasoned, reasonsOf } from '#libs/rpc';
import { Client, type Answer, Api, DatabaseGate, sendBytes } from './harness.js';
import { isLong, someOf } from './length.js';

const CREATE = '/v1/contact.create-contact';
const GET = '/v1/contact.get-contact';
const JSON_HEADERS = { 'Content-Type': 'application/json' };
const MIB = 1024 * 1024;

let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start();
  client = await api.organization();
});
afterAll(() => api.stop());

/** Checks the properties that all errors share. */
async function expectError(answer: Answer, status: number, code: ErrorCode): Promise<void> {
  const { headers, body } = answer;
  expect([answer.status, body.error?.code]).toEqual([status, code]);
  expect(headers.get('content-type')).toMatch(/^application\/json(;|$)/);
  expect(Object.keys(body)).toEqual(['error']);
  const issues = status === 400 && 'issues' in body.error ? { issues: expect.any(Array) } : {};
  const reason = isReasoned(code) ? { reason: expect.any(String) } : {};
  expect(body.error).toEqual({
    code,
    ...reason,
    message: expect.stringMatching(/^[^].*[.?]$|: \/docs$/),
    docs: expect.stringMatching(/^http:/),
    requestId: headers.get('x-request-id'),
    ...issues,
  });
  expect(body.error.requestId).toMatch(/^[\x21-\x7e]{1,128}$/);
  for (const issue of body.error.issues ?? []) {
    expect(issue).toEqual({ path: expect.any(String), message: expect.any(String) });
  }
  const anchor = body.error.reason === undefined ? '' : `#${body.error.reason}`;
  expect(body.error.docs).toMatch(new RegExp(`/errors/${code}${anchor}$`));
  const page = await fetch(body.error.docs);
  expect(page.status).toBe(200);
  const explanation = await page.text();
  expect(explanation).toContain(code);
  for (const word of reasonsOf(code)) expect(explanation).toContain(`<dt id="${word}">`);
  if ('reason' in body.error) expect(reasonsOf(code)).toContain(body.error.reason);
}

function post(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): Promise<Answer> {
  return client.request('POST', CREATE, body, headers);
}

/** Sends a handwritten request that `fetch` would not send. */
function send(
  line: string,
  headers: Record<string, string> = {},
  body: string | Buffer = '',
): Promise<Answer> {
  const fields = { Host: new URL(api.origin).host, Authorization: `Bearer ${client.key}`, ...headers };
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const bytes = Buffer.from(`${line} HTTP/1.1\r\n${head.join('')}Connection: close\r\n\r\n`);
  return sendBytes(api.origin, Buffer.concat([bytes, Buffer.from(body)]));
}

let people = 0;
/** A different person each time. */
function person({ organizationId } = client): { organizationId: string; email: string } {
  people += 1;
  return { organizationId, email: `ada-${people}@example.org` };
}

describe('an unknown URL', () => {
  it.each([
    '/v1',
    '/v1/contact',
    '/v1/contact.',
    '/v1/contact.no-such-operation',
    '/v1/nothing.create-contact',
    '/v2/contact.create-contact',
    `${CREATE}/`,
    '/v1/contact.Create-Contact',
    '/V1/contact.create-contact',
    `/${CREATE}`,
    `${CREATE}%00`,
    '/v1/contact%2Ecreate-contact',
    '/health',
    '/health/ready/',
    '/errors/NO_SUCH_CODE',
    '/errors/constructor',
    '/docs/no-such-page',
    '/docs/%00',
    '/docs/..%2f..%2fpackage.json',
    '/openapi.json/',
    '/__proto__',
  ])('returns 404 for %s', async (path) => {
    await expectError(await client.request('GET', path), 404, 'NOT_FOUND');
    await expectError(await client.request('POST', path, JSON.stringify(person())), 404, 'NOT_FOUND');
  });

  it.each(['/%zz', '/v1/%zz', '/v1/%ff', '/%', '/errors/%ff'])(
    'returns 404 for %s, which cannot be decoded',
    async (path) => {
      const answer = await client.request('GET', path);
      await expectError(answer, 404, 'NOT_FOUND');
    },
  );
});

it.each([
  ['/v1/contact.create', 'POST /v1/contact.create-contact'],
  ['/contacts/list', 'GET /v1/contact.list-contacts'],
  ['/v1/getContact', 'GET /v1/contact.get-contact'],
  ['/v2/petition.pubilsh-petition', 'POST /v1/petition.publish-petition'],
  ['/v1/nothing.like-it', undefined],
])('suggests the operation that %s was meant to be', async (path, meant) => {
  const { body } = await client.request('POST', path, '{}');
  const [, suggested] = / Did you mean (.*)\? /.exec(body.error.message) ?? [];
  expect(suggested).toBe(meant);
});

describe('GET /', () => {
  it('links to the parts of the server: JSON for programs, a page for browsers', async () => {
    const { body } = await client.request('GET', '/');
    expect(Object.keys(body.data)).toEqual(['version', 'documentation', 'openapi', 'dashboard']);
    expect(body.object).toBe('server');
    const browser = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'Accept-Language': 'de' };
    const page = await client.request('GET', '/', undefined, browser);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('vary')).toContain('Accept');
    expect(page.body).toMatch(/<html lang="de">[^]*href="\/dashboard"[^]*href="\/docs">API-Dokumentation</);
  });
});

describe('compression', () => {
  const unpack: Record<string, (bytes: Buffer) => Buffer> = {
    gzip: gunzipSync,
    br: brotliDecompressSync,
    identity: (bytes) => bytes,
  };

  /** Unlike fetch, it does not decompress. */
  async function get(
    path: string,
    accepted: string,
  ): Promise<{ headers: IncomingHttpHeaders; bytes: Buffer }> {
    const headers = { 'Accept-Encoding': accepted, Authorization: `Bearer ${client.key}` };
    const sent = request(api.origin + path, { headers }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { headers: response.headers, bytes: Buffer.concat(chunks) };
  }

  it.each([
    ['a record', '/v1/post.get-post?postId=', 'gzip', 'br'],
    ['a streamed export', '/v1/contact.export-contacts?format=csv', 'gzip', 'br'],
    ['a file', '/openapi.json', 'br', 'br'],
  ])('of %s is what the client accepts', async (_, path, first, second) => {
    await client.post('contact.create-contact', { ...person(), bio: 'x'.repeat(10_000) });
    const { body } = await client.post('post.create-post', { name: 'Long', content: 'x'.repeat(10_000) });
    const whole = path.endsWith('=') ? path + body.data.postId : path;
    const plain = (await get(whole, 'identity')).bytes;
    for (const [accepted, encoding] of [
      ['gzip, deflate, br', first],
      ['gzip;q=0, br', second],
      ['gzip', 'gzip'],
      ['*', first],
      ['deflate', 'identity'],
      ['br;q=0, gzip;q=0', 'identity'],
    ] as const) {
      const { headers, bytes } = await get(whole, accepted);
      expect([accepted, headers['content-encoding'] ?? 'identity']).toEqual([accepted, encoding]);
      expect(headers.vary).toBe('Accept-Encoding');
      expect(unpack[encoding]!(bytes).equals(plain)).toBe(true);
    }
  });

  it('leaves out short responses', async () => {
    const { headers } = await get('/v1/organization.get-organization', 'gzip');
    expect([headers['content-encoding'], headers.vary]).toEqual([undefined, undefined]);
  });
});

describe('a method that the operation does not support', () => {
  it.each([
    ['PUT', CREATE, 'POST'],
    ['PATCH', CREATE, 'POST'],
    ['GET', CREATE, 'POST'],
    ['DELETE', CREATE, 'POST'],
    ['OPTIONS', CREATE, 'POST'],
    ['PROPFIND', CREATE, 'POST'],
    ['POST', GET, 'GET, HEAD'],
    ['DELETE', GET, 'GET, HEAD'],
    ['OPTIONS', GET, 'GET, HEAD'],
    ['POST', '/v1/contact.delete-contact', 'DELETE'],
  ])('returns 405 for %s %s', async (method, path, allow) => {
    const answer = await client.request(method, path);
    await expectError(answer, 405, 'METHOD_NOT_ALLOWED');
    expect(answer.headers.get('allow')).toBe(allow);
  });

  it('returns 405 without a body for HEAD of an operation that GET does not read', async () => {
    const { status, body, headers } = await client.request('HEAD', CREATE);
    expect([status, body, headers.get('allow')]).toEqual([405, '', 'POST']);
  });

  it('HEAD returns the same as GET, without the body', async () => {
    const { body } = await client.post('contact.create-contact', person());
    const path = `${GET}?contactId=${body.data.contactId}&organizationId=${client.organizationId}`;
    const [get, head] = [await client.request('GET', path), await client.request('HEAD', path)];
    expect([head.status, head.body]).toEqual([200, '']);
    expect(head.headers.get('content-length')).toBe(String(JSON.stringify(get.body).length));
  });
});

describe('an invalid request', () => {
  // If the server accepted one of these, it would store its key.
  const key = { 'Idempotency-Key': 'rubbish' };
  let neighbour: Client;
  beforeAll(async () => {
    neighbour = client;
    client = await api.organization();
  });
  // After each test in `npm run test:long`, to find the one that stores something.
  (isLong ? afterEach : afterAll)(async () => {
    expect(await api.eventTypes(client.organizationId)).toEqual([
      'OrganizationCreated',
      'ApiKeyCreated',
      'ApiKeyCreated',
    ]);
    for (const table of ['idempotency_keys', 'unique_keys', 'subject_keys', 'contacts_v5.contacts']) {
      const rows = await api.database.source.query(`SELECT FROM ${table} WHERE organization_id = $1`, [
        client.organizationId,
      ]);
      expect(rows).toEqual([]);
    }
    // The process keeps nothing either.
    const { status, body } = await neighbour.post('contact.create-contact', person(neighbour));
    expect([status, Object.keys(body)]).toEqual([200, ['data', 'object']]);
  });

  const nested = (open: string, close: string, count = 100_000) => open.repeat(count) + close.repeat(count);
  it.each<[string, () => string | Uint8Array<ArrayBuffer>]>([
    ['half an object', () => '{"email":'],
    ['two objects', () => '{}{}'],
    ['white space', () => ' \r\n'],
    ['null', () => 'null'],
    ['an array', () => '[]'],
    ['a string', () => '"x"'],
    ['a number', () => '1'],
    ['a bare word', () => 'undefined'],
    ['an object without fields', () => '{}'],
    ['100,000 nested arrays', () => nested('[', ']')],
    ['30,000 nested objects', () => nested('{"a":', '}', 30_000).replace('}', '1}')],
    ['a field of 100,000 nested arrays', () => `{"firstName":${nested('[', ']')}}`],
    [
      'a field of 29,000 nested objects',
      () => `{"firstName":${nested('{"a":', '}', 29_000).replace(':}', ':1}')}}`,
    ],
    ['a field name of 500,000 characters', () => JSON.stringify({ ...person(), ['x'.repeat(500_000)]: 1 })],
    ['an empty field name', () => JSON.stringify({ ...person(), '': 1 })],
    ['a field name with a lone surrogate', () => `{"\\ud800":1}`],
    [
      'bytes that are not UTF-8',
      () => Uint8Array.of(...Buffer.from('{"email":"'), 0xff, 0xc3, 0x28, ...Buffer.from('"}')),
    ],
    ['a huge number', () => `{"email":${'9'.repeat(100_000)}}`],
  ])('returns 400 for a body of %s', async (_, body) => {
    const answer = await post(body(), key);
    await expectError(answer, 400, 'BAD_REQUEST');
    expect(answer.body.error.issues.length).toBeGreaterThan(0);
    expect(JSON.stringify(answer.body).length).toBeLessThan(2_000);
  });

  it('returns 400 without a body, or with an empty one', async () => {
    const chunked: Record<string, string> = { 'Transfer-Encoding': 'chunked' };
    for (const headers of [{}, { 'Content-Length': '0' }, chunked]) {
      const body = headers === chunked ? '0\r\n\r\n' : '';
      for (const line of [`POST ${CREATE}`, 'DELETE /v1/contact.delete-contact']) {
        const answer = await send(line, { ...JSON_HEADERS, ...key, ...headers }, body);
        await expectError(answer, 400, 'BAD_REQUEST');
        expect(answer.body.error.issues.length).toBeGreaterThan(0);
      }
    }
  });

  it('returns 400 for __proto__ and constructor, which pollute nothing', async () => {
    const { organizationId, email } = person();
    const answer = await post(
      `{"__proto__":{"polluted":1,"email":"${email}","organizationId":"${organizationId}"},
        "constructor":{"prototype":{"polluted":1}},"toString":1,"context":{"organizationId":"x"}}`,
      key,
    );
    await expectError(answer, 400, 'BAD_REQUEST');
    expect(answer.body.error.issues.map(({ path }: { path: string }) => path)).toEqual([
      '__proto__',
      'constructor',
      'toString',
      'context',
      'organizationId',
      'email',
    ]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it('returns 400 for 10,000 unknown fields, and names some of them', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`field-${n}`, n]));
    const answer = await post(JSON.stringify({ ...person(), ...unknown }), key);
    await expectError(answer, 400, 'BAD_REQUEST');
    expect(answer.body.error.issues[0].path).toBe('field-0');
    expect(answer.body.error.issues.length).toBeLessThanOrEqual(50);
  });

  it('returns 413 above 1 MiB: announced, in chunks, or after decompression', async () => {
    const large = Buffer.from(JSON.stringify({ ...person(), bio: 'x'.repeat(2 * MIB) }));
    await expectError(await post(new Uint8Array(large), key), 413, 'PAYLOAD_TOO_LARGE');

    const half = large.subarray(0, MIB);
    const chunk = Buffer.concat([Buffer.from(`${MIB.toString(16)}\r\n`), half, Buffer.from('\r\n')]);
    const chunks = Buffer.concat([chunk, chunk, Buffer.from('0\r\n\r\n')]);
    const headers = { ...JSON_HEADERS, ...key };
    const chunked = await send(`POST ${CREATE}`, { ...headers, 'Transfer-Encoding': 'chunked' }, chunks);
    await expectError(chunked, 413, 'PAYLOAD_TOO_LARGE');

    const packed = new Uint8Array(gzipSync(large));
    expect(packed.length).toBeLessThan(MIB / 100);
    await expectError(await post(packed, { ...key, 'Content-Encoding': 'gzip' }), 413, 'PAYLOAD_TOO_LARGE');
  });

  it.each([
    ['announces more', `Content-Length: ${3 * MIB}`, 'x'],
    ['never ends', 'Transfer-Encoding: chunked', `200000\r\n${'x'.repeat(MIB + 1)}`],
  ])('returns 413 without waiting for the rest of a body that %s', async (_, header, start) => {
    const { hostname, port } = new URL(api.origin);
    const socket = connect(Number(port), hostname);
    const head = [`POST ${CREATE} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${client.key}`];
    socket.write([...head, 'Content-Type: application/json', header, '', start].join('\r\n'));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 [^]*"PAYLOAD_TOO_LARGE"/);
    socket.destroy();
  });

  /** Writes the whole request before it reads anything, as simple clients do. */
  async function writeThenRead(head: string[], body: Buffer): Promise<string> {
    const { hostname, port } = new URL(api.origin);
    const socket = connect(Number(port), hostname);
    socket.pause();
    const lines = [...head, 'Host: x', `Authorization: Bearer ${client.key}`, '', ''];
    socket.write(lines.join('\r\n'));
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.write(body, (error) => (error ? reject(error) : resolve()));
    });
    let answer = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
    socket.resume();
    // Complete, even if the server keeps the connection open.
    while (!/"requestId":[^]*\}\}$/.test(answer)) await once(socket, 'data');
    socket.destroy();
    return answer;
  }

  const UPLOAD = '/v1/image.upload-image';
  const LARGE = [
    ['JSON', CREATE, 'application/json', 24 * MIB],
    ['a form', UPLOAD, 'multipart/form-data; boundary=x', 48 * MIB],
    ['a file', UPLOAD, 'image/png', 48 * MIB],
  ] as const;
  describe.each(someOf(LARGE, 2))('returns 413 for %s far above its limit', (_what, path, type, size) => {
    const start = type.startsWith('multipart')
      ? '--x\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\n'
      : '';
    const body = Buffer.concat([Buffer.from(start), Buffer.alloc(size, 'x')]);
    const chunked = Buffer.concat([
      Buffer.from(`${body.length.toString(16)}\r\n`),
      body,
      Buffer.from('\r\n0\r\n\r\n'),
    ]);
    const head = [`POST ${path} HTTP/1.1`, `Content-Type: ${type}`];
    const framings: [string, string, Buffer][] = [
      ['announced', `Content-Length: ${body.length}`, body],
      ['in chunks', 'Transfer-Encoding: chunked', chunked],
    ];
    const all = framings.flatMap(([name, header, bytes]) =>
      ['keep-alive', 'close'].map((connection) => ({ name, header, bytes, connection })),
    );
    // Each framing and each connection once.
    const cases = isLong ? all : [all[0]!, all[3]!];

    it.each(cases)(
      'to a client that sends everything before it reads: $name, $connection',
      async ({ header, bytes, connection }) => {
        const answer = await writeThenRead([...head, header, `Connection: ${connection}`], bytes);
        expect(answer).toMatch(/^HTTP\/1\.1 413 [^]*"PAYLOAD_TOO_LARGE"/);
      },
    );

    it('to fetch', async () => {
      const headers = { 'Content-Type': type, Authorization: `Bearer ${client.key}` };
      const options = { method: 'POST', headers, duplex: 'half' } as const;
      const whole = await fetch(api.origin + path, { ...options, body });
      expect([whole.status, await whole.json()]).toMatchObject([
        413,
        { error: { code: 'PAYLOAD_TOO_LARGE' } },
      ]);
      if (!isLong) return;
      const parts = new Blob([body]).stream();
      const streamed = await fetch(api.origin + path, { ...options, body: parts });
      expect([streamed.status, await streamed.json()]).toMatchObject([
        413,
        { error: { code: 'PAYLOAD_TOO_LARGE' } },
      ]);
    });
  });

  it('accepts exactly 1 MiB, and returns 413 for one byte more', async () => {
    const body = JSON.stringify({ bio: '' });
    const whole = JSON.stringify({ bio: 'x'.repeat(MIB - body.length) });
    await expectError(await post(whole, key), 400, 'BAD_REQUEST');
    await expectError(await post(`${whole} `, key), 413, 'PAYLOAD_TOO_LARGE');
  });

  it.each([
    ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }],
    ['plain text', { 'Content-Type': 'text/plain' }],
    ['multipart', { 'Content-Type': 'multipart/form-data; boundary=x' }],
    ['another kind of JSON', { 'Content-Type': 'application/json-patch+json' }],
    ['several types', { 'Content-Type': 'text/plain, application/json' }],
    ['Latin-1', { 'Content-Type': 'application/json; charset=latin1' }],
    ['UTF-16', { 'Content-Type': 'application/json; charset="utf-16le"' }],
    ['an unknown compression', { 'Content-Encoding': 'compress' }],
    ['two compressions', { 'Content-Encoding': 'gzip, gzip' }],
  ])('returns 415 for %s', async (_, headers) => {
    const answer = await post(JSON.stringify(person()), { ...key, ...headers });
    await expectError(answer, 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('returns 415 without a content type', async () => {
    const body = JSON.stringify(person());
    const answer = await send(`POST ${CREATE}`, { ...key, 'Content-Length': String(body.length) }, body);
    await expectError(answer, 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('returns 400 for data that is not in the stated compression', async () => {
    const answer = await post(JSON.stringify(person()), { ...key, 'Content-Encoding': 'gzip' });
    await expectError(answer, 400, 'BAD_REQUEST');
  });

  it.each([
    ['contactId=1&contactId=2', ['contactId']],
    ['contactId=1&contactId[]=2', ['contactId[]']],
    ['contactId=1&__proto__=2&constructor=3', ['__proto__', 'constructor']],
    ['contactId=%00', ['contactId']],
    ['contactId=1&%00=2', ['\0']],
    ['contactId=%zz', ['']],
    ['contactId=%ff', ['']],
    ['contactId=%', ['']],
    ['contactId=%ed%a0%80', ['']],
  ])('returns 400 for the query %s', async (query, paths) => {
    const answer = await client.request('GET', `${GET}?organizationId=${client.organizationId}&${query}`);
    await expectError(answer, 400, 'BAD_REQUEST');
    expect(answer.body.error.issues.map(({ path }: { path: string }) => path)).toEqual(paths);
  });

  it('returns 400 for a query of 2,000 fields', async () => {
    const query = Array.from({ length: 2_000 }, (_, n) => `a${n}=`).join('&');
    await expectError(await client.request('GET', `${GET}?${query}`), 400, 'BAD_REQUEST');
  });

  it('returns 400 for a GET with a body', async () => {
    const path = `${GET}?organizationId=${client.organizationId}&contactId=1`;
    const announced = await send(`GET ${path}`, { ...JSON_HEADERS, 'Content-Length': '2' }, '{}');
    await expectError(announced, 400, 'BAD_REQUEST');
    const chunked = await send(`GET ${path}`, { 'Transfer-Encoding': 'chunked' }, '2\r\n{}\r\n0\r\n\r\n');
    await expectError(chunked, 400, 'BAD_REQUEST');
  });

  it('returns 404 for an id of 10,000 characters, and 400 for a URL of 20,000', async () => {
    const query = `organizationId=${client.organizationId}&contactId=`;
    const long = await client.request('GET', `${GET}?${query}${'x'.repeat(10_000)}`);
    await expectError(long, 404, 'NOT_FOUND');
    await expectError(await send(`GET ${GET}?${query}${'x'.repeat(20_000)}`), 400, 'BAD_REQUEST');
  });

  it.each([
    ['data that is not HTTP', 'rubbish\r\n\r\n'],
    ['a TLS handshake', Buffer.from('16030100c8010000c40303', 'hex')],
    ['a wrong version', 'GET / HTTP/9.9\r\n\r\n'],
    ['no Host', `GET ${GET} HTTP/1.1\r\nConnection: close\r\n\r\n`],
    ['two lengths', `POST ${CREATE} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}`],
    [
      'a length and chunks',
      `POST ${CREATE} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['a header without a colon', `GET ${GET} HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n`],
    ['a space in the URL', `GET /v1/contact get HTTP/1.1\r\nHost: x\r\n\r\n`],
  ])('returns 400 for %s', async (_, bytes) => {
    await expectError(await sendBytes(api.origin, bytes), 400, 'BAD_REQUEST');
  });

  it('never uses a Host that the operator did not configure in the docs URL', async () => {
    const hosts = [
      '<script>',
      'a b',
      'evil.example/x?',
      '"',
      'a@b',
      'evil.example',
      'localhost.evil.example',
    ];
    for (const host of [
      ...hosts,
      'evil.example:443',
      '127.0.0.1.evil.example',
      '169.254.169.254',
      '[fe80::1]',
    ]) {
      for (const line of ['GET /v1/nothing', 'CONNECT evil.example:443']) {
        const answer = await send(line, { Host: host, 'X-Forwarded-Host': 'evil.example' });
        expect(new URL(answer.body.error.docs).origin).toBe(api.origin);
      }
      await expectError(await send('GET /v1/nothing', { Host: host }), 404, 'NOT_FOUND');
    }
  });

  it('uses a Host that names the machine itself, as with a forwarded port', async () => {
    for (const host of ['localhost:8080', '127.0.0.1', '[::1]:8080']) {
      const { body } = await send('GET /v1/nothing', { Host: host });
      expect(body.error.docs).toBe(`http://${host}/errors/NOT_FOUND`);
    }
  });

  it('trusts X-Forwarded-Proto only with TRUST_PROXY, and never X-Forwarded-Host', async () => {
    const forwarded = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'evil.example' };
    const head = Object.entries({ Host: 'localhost', Connection: 'close', ...forwarded });
    const bytes = `GET /v1/nothing HTTP/1.1\r\n${head.map((pair) => `${pair.join(': ')}\r\n`).join('')}\r\n`;
    const trusting = await api.addInstance({ TRUST_PROXY: 'loopback' });
    const docsOf = async (origin: string) => (await sendBytes(origin, bytes)).body.error.docs;
    expect(await docsOf(api.origin)).toBe('http://localhost/errors/NOT_FOUND');
    expect(await docsOf(trusting.origin)).toBe('https://localhost/errors/NOT_FOUND');
  });

  it('uses PUBLIC_URL for any Host', async () => {
    const { origin } = await api.addInstance({ PUBLIC_URL: 'https://api.example.org/' });
    for (const host of ['localhost', 'evil.example']) {
      const bytes = `GET /v1/nothing HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      const { body } = await sendBytes(origin, bytes);
      expect(body.error.docs).toBe('https://api.example.org/errors/NOT_FOUND');
    }
  });
});

it('returns 429 and 503 in the envelope above the limits of concurrent requests, but still responds to health checks', async () => {
  const { origin, app } = await api.addInstance();
  const full = async (caller: number, instance: number, path = '/v1/nothing') => {
    const concurrency = app.get(Concurrency);
    const { most } = concurrency;
    concurrency.most = { caller, instance };
    const answer = await client.withoutRetries().at(origin).request('GET', path);
    concurrency.most = most;
    return answer;
  };
  const many = await full(0, 100);
  await expectError(many, 429, 'RATE_LIMIT_EXCEEDED');
  const busy = await full(100, 0);
  await expectError(busy, 503, 'SERVICE_UNAVAILABLE');
  expect([many, busy].map(({ headers }) => headers.get('retry-after'))).toEqual(['1', '1']);
  expect((await full(0, 0, '/health/ready')).status).toBe(200);
});

describe('headers that protect responses', () => {
  const stated = ({ headers }: Answer) =>
    ['cache-control', 'x-content-type-options'].map((name) => headers.get(name));

  it('are in every response, from the application and from the layers before it', async () => {
    const { organizationId } = client;
    const answers = [
      await client.post('contact.create-contact', { organizationId, email: 'ada@example.org' }),
      await client.get('contact.list-contacts'),
      await client.get('contact.export-contacts', { format: 'csv' }),
      await client.get('contact.no-such'),
      await client.post('contact.create-contact', {}),
      await client.request('GET', '/health/ready'),
      await sendBytes(api.origin, 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'),
      await sendBytes(api.origin, 'nonsense\r\n\r\n'),
      await sendBytes(api.origin, 'GET / HTTP/1.1\r\n\r\n'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 404, 400, 200, 405, 400, 400]);
    for (const answer of answers) expect(stated(answer)).toEqual(['no-store', 'nosniff']);
  });

  it.each(['/docs', '/docs/contact.create-contact', '/errors/NOT_FOUND'])(
    'forbid framing of %s',
    async (path) => {
      const { status, headers } = await client.request('GET', path);
      expect(status).toBe(200);
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none';.*frame-ancestors 'none'$/);
      expect(headers.get('content-security-policy')).not.toMatch(/script-src[^;]*unsafe|\*|https?:/);
      expect([headers.get('x-frame-options'), headers.get('referrer-policy')]).toEqual([
        'DENY',
        'no-referrer',
      ]);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    },
  );
});

describe('Prefer: return=record', () => {
  const prefer = { Prefer: 'respond-async, return=record' };

  it('adds the record to the response of each operation that creates one', async () => {
    const { organizationId } = client;
    const created = await client.post('contact.create-contact', { ...person(), firstName: 'Ada' }, prefer);
    const { contactId } = created.body.data;
    const { body } = await client.get('contact.get-contact', { contactId, organizationId });
    expect(created.body.data).toEqual({ ...body.data, contactId, created: true });
    expect(created.headers.get('preference-applied')).toBe('return=record');
    const list = await client.post(
      'list.create-list',
      { name: 'Friends' },
      { Prefer: 'return=representation' },
    );
    expect(list.body.data).toMatchObject({ id: list.body.data.listId, name: 'Friends', version: 1 });
    expect(list.headers.get('preference-applied')).toBe('return=representation');
  });

  it('returns only the id if a repeated request created a record that was deleted since', async () => {
    const headers = { ...prefer, 'Idempotency-Key': 'list-1' };
    const { body } = await client.post('list.create-list', { name: 'Short-lived' }, headers);
    const { listId } = body.data;
    await client.delete('list.delete-list', { listId });
    const again = await client.post('list.create-list', { name: 'Short-lived' }, headers);
    expect([again.status, again.body.data, again.headers.get('preference-applied')]).toEqual([
      200,
      { listId },
      null,
    ]);
  });

  it('changes nothing else: not without it, not for a key that may not read, not for other operations', async () => {
    const { body } = await client.post('list.create-list', { name: 'Others' }, { Prefer: 'return=minimal' });
    expect(Object.keys(body.data)).toEqual(['listId']);
    const { organizationId } = client;
    const { key } = await api.createKey(organizationId, { scopes: ['list:write'] });
    const writer = new Client(client.origin, organizationId, key);
    const written = await writer.post('list.create-list', { name: 'Unread' }, prefer);
    expect([Object.keys(written.body.data), written.headers.get('preference-applied')]).toEqual([
      ['listId'],
      null,
    ]);
    const update = { listId: body.data.listId, name: 'More' };
    expect((await client.post('list.update-list', update, prefer)).headers.get('preference-applied')).toBe(
      null,
    );
  });
});

describe('a time that does not exist', () => {
  it.each([
    '2026-02-30T00:00:00Z',
    '2026-04-31T00:00:00.000Z',
    '2025-02-29T12:00:00+01:00',
    '0000-01-01T00:00:00Z',
    '2026-01-01T00:00:00+23:59',
    '2026-01-01T00:00:00+16:00',
    '2026-01-01T25:00:00Z',
    '2026-01-01T00:00:60Z',
  ])('returns 400 for %s', async (moment) => {
    for (const [operation, field] of [
      ['contact.list-contacts', 'createdAfter'],
      ['contact.list-contacts', 'updatedBefore'],
    ] as const) {
      const answer = await client.get(operation, { [field]: moment });
      await expectError(answer, 400, 'BAD_REQUEST');
      expect(answer.body.error.issues[0].path).toBe(field);
    }
    const asOf = await client.get('contact.get-contact', {
      contactId: 'x',
      organizationId: client.organizationId,
      asOf: moment,
    });
    await expectError(asOf, 400, 'BAD_REQUEST');
  });

  it.each([
    '2024-02-29T00:00:00Z',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999999999Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01t00:00:00z',
    '2026-01-01T00:00:00-15:59',
    '2026-01-01T00:00:00+14:00',
  ])('returns 200 for %s', async (moment) => {
    const { status } = await client.get('contact.list-contacts', { createdAfter: moment });
    expect(status).toBe(200);
  });

  it.each(['2026-02-30T00:00:00.000Z', '-000001-01-01T00:00:00.000Z', 'Mar 3', '2026', '0'])(
    'returns 400 for a cursor that contains %s',
    async (moment) => {
      const id = '01990a6e-1111-7000-8000-000000000001';
      const cursor = Buffer.from(JSON.stringify(['createdAt', moment, id])).toString('base64url');
      const answer = await client.get('contact.list-contacts', { sort: 'createdAt', cursor });
      await expectError(answer, 400, 'BAD_REQUEST');
      expect(answer.body.error.issues[0].path).toBe('cursor');
    },
  );
});

describe('X-Request-Id', () => {
  it('is generated, different for every request', async () => {
    const ids = await Promise.all(
      ['/v1/nothing', '/health/live', '/docs'].map(async (path) =>
        (await client.request('GET', path)).headers.get('x-request-id'),
      ),
    );
    expect(new Set(ids).size).toBe(3);
    expect(ids).not.toContain(null);
  });

  it.each([
    ['unchanged', '01990a6e-1111-7000-8000-000000000009', /^01990a6e-1111-7000-8000-000000000009$/],
    [
      'as a keyed hash where it could be personal data',
      '!ada@example.org~'.padEnd(128, 'x'),
      /^h_[0-9a-f]{32}$/,
    ],
  ])('is accepted from the caller, returned, and stored with every event %s', async (_, given, stored) => {
    const headers = { 'X-Request-Id': given };
    const created = await client.post('contact.create-contact', person(), headers);
    expect(created.headers.get('x-request-id')).toBe(given);
    const failed = await client.post('contact.create-contact', {}, headers);
    await expectError(failed, 400, 'BAD_REQUEST');
    expect(failed.body.error.requestId).toBe(given);
    const events = await api.database.source.query(
      `SELECT metadata->>'requestId' AS id FROM events WHERE organization_id = $1 AND type = 'ContactCreated'`,
      [client.organizationId],
    );
    expect(events.at(-1)).toEqual({ id: expect.stringMatching(stored) });
  });

  it.each(['', 'x'.repeat(129), 'two words', 'käse', 'a\tb'])('is replaced if it is %j', async (given) => {
    const { body, headers } = await client.request('GET', '/v1/nothing', undefined, {
      'X-Request-Id': given,
    });
    expect(body.error.requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers.get('x-request-id')).toBe(body.error.requestId);
  });

  it('is replaced if there are two', async () => {
    const { body } = await send('GET /v1/nothing', { 'X-Request-Id': 'a', 'x-request-id': 'b' });
    expect(body.error.requestId).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('internal failures', () => {
  it('return 500 without internal details if a table is missing, while other operations work', async () => {
    const { source } = api.database;
    await source.query('ALTER TABLE contacts_v5.contacts RENAME TO away');
    try {
      for (const operation of ['contact.list-contacts', 'contact.get-contact']) {
        const ids = {
          contactId: '01990a6e-1111-7000-8000-000000000001',
          organizationId: client.organizationId,
        };
        const answer = await client.get(operation, operation.includes('list') ? {} : ids);
        await expectError(answer, 500, 'INTERNAL_SERVER_ERROR');
        expect(JSON.stringify(answer.body)).not.toMatch(
          /contacts_v5|relation|select|sql|query|\.[jt]s|node/i,
        );
      }
      const unknown = await client.post('contact.update-contact', { contactId: 'x', city: 'Paris' });
      await expectError(unknown, 404, 'NOT_FOUND');
    } finally {
      await source.query('ALTER TABLE contacts_v5.away RENAME TO contacts');
    }
  });

  it('return 503 while the database is unavailable, and then recover automatically', async () => {
    const gate = await DatabaseGate.before(api.database.url);
    const { origin, life } = await api.addInstance({ DATABASE_URL: gate.url });
    try {
      const owner = (await api.organization()).at(origin);
      const input = { organizationId: owner.organizationId, email: 'ada@example.org' };
      const read = await owner.get('contact.list-contacts');
      gate.shut();
      // More requests than the pool has connections.
      for (let n = 0; n < 12; n += 1) {
        const answer =
          n % 2 === 0
            ? await owner.post('contact.create-contact', input)
            : await owner.get('contact.list-contacts');
        await expectError(answer, 503, 'SERVICE_UNAVAILABLE');
        expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
        expect(JSON.stringify(answer.body)).not.toMatch(/econn|terminated|127\.0\.0\.1:(?!\d+\/errors)/i);
      }
      gate.open();
      expect((await owner.get('contact.list-contacts')).body).toEqual(read.body);
      const created = await owner.post('contact.create-contact', input);
      const list = await owner.get('contact.list-contacts');
      expect(list.body.data.map(({ id }: { id: string }) => id)).toEqual([created.body.data.contactId]);
    } finally {
      await life.drain(0);
      gate.stop();
    }
  });
});
