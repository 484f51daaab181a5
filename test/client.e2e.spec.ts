import { build } from 'esbuild';
import { execFile } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import {
  ApiError,
  type Client as TypedClient,
  ConfigurationError,
  ConnectionError,
  createClient,
  SecretLostError,
  verifyWebhook,
} from '../client/src/index.js';
import { SharedApi, type Client } from './harness.js';
import { flat } from './pictures.js';

let api: SharedApi;
let client: Client;
let typed: TypedClient;
beforeAll(async () => {
  api = await SharedApi.open();
  client = await api.organization();
  typed = createClient({ url: `${client.origin}/`, key: client.key! });
});
afterAll(() => api.stop());

const root = join(__dirname, '..');

/** A client whose first attempts fail in this way, and the requests that it sends. */
function failing(failures: (Response | Error)[]) {
  const sent: Request[] = [];
  const fetching: typeof fetch = (url, init) => {
    sent.push(new Request(url, { ...init, signal: null }));
    const failure = failures.shift();
    if (failure instanceof Error) return Promise.reject(failure);
    return failure ? Promise.resolve(failure) : fetch(url, init);
  };
  const { origin, organizationId, key } = client;
  return { sent, typed: createClient({ url: origin, key: key!, organizationId, fetch: fetching }) };
}
const failure = (status: number, reason?: string, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify({ error: { code: 'SERVICE_UNAVAILABLE', reason, message: 'Later' } }), {
    status,
    headers,
  });
const NOW = { 'Retry-After': '0' };
let people = 0;
const address = () => `person-${++people}@example.org`;

describe('@advocacy/client', () => {
  it('fills in the organization, and returns records, lists and errors', async () => {
    const email = address();
    const { contactId } = await typed.contact.create({ email, firstName: 'Ada' });
    expect(await typed.contact.get({ contactId, include: ['tags', 'lists'] })).toMatchObject({
      organizationId: client.organizationId,
      firstName: 'Ada',
      tags: { data: [], hasMore: false },
    });
    for (let n = 0; n < 4; n += 1) await typed.contact.create({ email: address() });
    const found: (string | null)[] = [];
    for await (const contact of typed.contact.list({ sort: 'createdAt', limit: 2 }))
      found.push(contact.email);
    expect(found).toHaveLength(5);
    expect(found[0]).toBe(email);
    const page = await typed.contact.list({ email });
    expect([page.data.length, page.pagination.hasMore]).toEqual([1, false]);
    const types: string[] = [];
    for await (const { type } of typed.history.listEvents({ recordId: contactId, limit: 1 }))
      types.push(type);
    expect(types).toEqual(['ContactCreated']);

    const error = await typed.contact.create({ email, firstName: 'Augusta' }).catch((one: unknown) => one);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      status: 409,
      code: 'CONFLICT',
      reason: 'EMAIL_TAKEN',
      contactId,
      issues: [],
    });
    const invalid = await typed.petition
      .create({ name: '' }, { requestId: contactId })
      .catch((one: unknown) => one);
    expect(invalid).toMatchObject({ code: 'BAD_REQUEST', requestId: contactId, issues: [{ path: 'name' }] });
    expect(await typed.contact.delete({ contactId })).toEqual({ contactId });
  });

  it('streams imports and exports, and uploads files', async () => {
    const prefix = address();
    async function* rows() {
      for (let n = 0; n < 3; n += 1) yield await Promise.resolve({ email: `${n}${prefix}` });
    }
    const progress: number[] = [];
    const { listId } = await typed.list.create({ name: prefix });
    const report = await typed.contact.import(
      rows(),
      { subscribed: true, listId },
      { onProgress: (bytes) => progress.push(bytes) },
    );
    expect(report).toMatchObject({ created: 3, failedCount: 0 });
    expect(progress).toHaveLength(3);
    const csv = `email,subscribed\n3${prefix},true\n`;
    const parts = new Blob([csv]).stream();
    expect(await typed.contact.import(parts, { listId })).toMatchObject({ created: 1 });
    await typed.contact.import([{ email: `4${prefix}`, subscribed: false }], { listId });
    const exported: (string | null)[] = [];
    for await (const { email } of typed.contact.export({ listId })) exported.push(email);
    expect(exported).toEqual([0, 1, 2, 3, 4].map((n) => `${n}${prefix}`));
    const table = await new Response(await typed.contact.export({ listId, format: 'csv' }).stream()).text();
    expect(table.trimEnd().split('\n')).toHaveLength(6);
    const asCsv = typed.contact.export({ listId, format: 'csv' })[Symbol.asyncIterator]();
    await expect(asCsv.next()).rejects.toThrow('Read it with stream()');
    const { imageId } = await typed.image.upload(flat(3, 2), { name: 'Dot' });
    expect(await typed.image.get({ imageId })).toMatchObject({ name: 'Dot' });
  });

  it('repeats a request with the same Idempotency-Key after 429, 500, 503 and lost connections', async () => {
    const { sent, typed: flaky } = failing([
      new TypeError(),
      failure(503, 'OVERLOADED', NOW),
      failure(429, undefined, NOW),
    ]);
    const random = jest.spyOn(Math, 'random').mockReturnValue(0);
    await flaky.contact.create({ email: address() });
    random.mockRestore();
    expect(sent).toHaveLength(4);
    const keys = sent.map(({ headers }) => headers.get('Idempotency-Key'));
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    await flaky.contact.create({ email: address() });
    expect(sent[4]!.headers.get('Idempotency-Key')).not.toBe(keys[0]);
  });

  it.each([
    ['ADDRESS_RATE', failure(429, 'ADDRESS_RATE', NOW)],
    ['HISTORY_DAMAGED', failure(503, 'HISTORY_DAMAGED', NOW)],
    ['TIMED_OUT', failure(503, 'TIMED_OUT', NOW)],
    ['a wait of more than a minute', failure(429, undefined, { 'Retry-After': '61' })],
    ['404', failure(404)],
    ['a response of a proxy', new Response('Bad gateway', { status: 502 })],
  ])('does not repeat a request after %s', async (_, response) => {
    const { sent, typed: flaky } = failing([response]);
    await expect(flaky.petition.create({ name: 'Once' })).rejects.toMatchObject({ status: response.status });
    expect(sent).toHaveLength(1);
  });

  it('stops when its signal is aborted, after the timeout, and without retries', async () => {
    const { sent, typed: lost } = failing([new TypeError(), new TypeError()]);
    await expect(lost.petition.list({}, { maxRetries: 0 })).rejects.toBeInstanceOf(ConnectionError);
    const aborted = AbortSignal.abort(new Error('Closed'));
    await expect(lost.petition.list({}, { signal: aborted })).rejects.toThrow('Closed');
    expect(sent).toHaveLength(2);
    const hanging: typeof fetch = (_, init) =>
      new Promise((_resolve, reject) =>
        init!.signal!.addEventListener('abort', () => reject(new TypeError())),
      );
    const late = createClient({
      url: client.origin,
      key: client.key!,
      fetch: hanging,
      timeout: 5,
      maxRetries: 0,
    });
    await expect(late.petition.list()).rejects.toBeInstanceOf(ConnectionError);
  });

  it('throws if a key or secret was lost with the first response, and returns the rest', async () => {
    const random = jest.spyOn(Math, 'random').mockReturnValue(0);
    let drops = 0;
    const dropping: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      drops += 1;
      if (drops % 2 === 1) throw new TypeError('dropped');
      return response;
    };
    const { origin: url, organizationId, key } = client;
    const lossy = createClient({ url, key: key!, organizationId, fetch: dropping });
    const lost = async (step: Promise<unknown>) => {
      const error = await step.catch((one: unknown) => one);
      expect(error).toBeInstanceOf(SecretLostError);
      return (error as SecretLostError).data as Record<string, string>;
    };
    const { apiKeyId } = await lost(lossy.apiKey.create({ name: 'Lost', scopes: ['contact:read'] }));
    const { webhookId } = await lost(
      lossy.webhook.create({ url: 'https://example.org/', eventTypes: ['PetitionSigned'] }),
    );
    const { apiKeyId: successor } = await lost(lossy.apiKey.rotate({ apiKeyId: apiKeyId! }));
    await lost(lossy.webhook.rotateSecret({ webhookId: webhookId! }));
    random.mockRestore();
    // Its key was not lost in transit, but belongs to an earlier request.
    expect(await lost(typed.apiKey.rotate({ apiKeyId: apiKeyId! }))).toMatchObject({ apiKeyId: successor });
    expect((await typed.apiKey.rotate({ apiKeyId: successor! })).key).toMatch(/^adv_/);
    expect((await lossy.petition.create({ name: 'Not lost' })).petitionId).toBeDefined();
  });

  it.each([
    { key: '' },
    { key: 'adv_hidden\nline2' },
    { key: 'adv_hiddén' },
    { key: undefined as unknown as string },
    { url: '' },
    { url: 'localhost:3000' },
    { url: 'ftp://example.org' },
    { url: 'http://user:hidden@example.org' },
    { url: 'http://example.org?hidden' },
  ])('rejects the option %j without repeating it', (option) => {
    const create = () => createClient({ url: client.origin, key: client.key!, ...option });
    expect(create).toThrow(ConfigurationError);
    expect(create).not.toThrow('hid');
  });

  it('sends a request once if onResponse throws, or if the server redirects it', async () => {
    const { sent, typed: redirected } = failing([
      new Response(null, { status: 307, headers: { Location: 'https://example.org/' } }),
    ]);
    await expect(redirected.petition.create({ name: 'Elsewhere' })).rejects.toBeInstanceOf(
      ConfigurationError,
    );
    expect(sent.map(({ redirect }) => redirect)).toEqual(['manual']);
    const onResponse = () => {
      throw new RangeError('A bug');
    };
    await expect(redirected.petition.list({}, { onResponse })).rejects.toThrow(new RangeError('A bug'));
    expect(sent).toHaveLength(2);
    const spaced = createClient({ url: client.origin, key: `${client.key}\n` });
    await expect(spaced.petition.list({}, { requestId: 'a\nb' })).rejects.not.toBeInstanceOf(ConnectionError);
  });

  it.each<[string, string, (controller: ReadableStreamDefaultController<Uint8Array>) => void]>([
    ['stalls', 'No response within 5 ms', () => undefined],
    ['is cut off', 'terminated', (controller) => controller.error(new TypeError('terminated'))],
    ['ends within a line', 'a line is not JSON', (controller) => controller.close()],
  ])('throws a ConnectionError if a download %s', async (_, message, end) => {
    const parts = [...Buffer.from('{"email":"ä@example.org"}\n{"em')].map((byte) => Uint8Array.of(byte));
    const cut = () => {
      const left = [...parts];
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          const part = left.shift();
          if (part) controller.enqueue(part);
          else return end(controller);
        },
      });
      return new Response(body, { headers: { 'Content-Type': 'application/x-ndjson' } });
    };
    const { typed: lossy } = failing([cut(), cut(), failure(404)]);
    const { signal } = new AbortController();
    const options = { timeout: 5, signal };
    const read: unknown[] = [];
    const reading = async () => {
      for await (const { email } of lossy.contact.export({}, options)) read.push(email);
    };
    const error = await reading().catch((one: unknown) => one);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ message: expect.stringContaining(message) });
    expect(read).toEqual(['ä@example.org']);
    const file = await lossy.contact.export({}, options).stream();
    const whole = await new Response(file).text().catch((one: unknown) => one);
    if (message !== 'a line is not JSON') expect(whole).toBeInstanceOf(ConnectionError);
    await expect(lossy.contact.export({}, options).stream()).rejects.toBeInstanceOf(ApiError);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it.each([null, 'same'])('throws if the next page of a list has the cursor %j', async (cursor) => {
    const page = { data: [], pagination: { hasMore: true, cursor } };
    const { typed: endless } = failing([Response.json(page), Response.json(page)]);
    const list = async () => {
      for await (const petition of endless.petition.list()) expect(petition).toBeUndefined();
    };
    await expect(list()).rejects.toThrow('no new cursor');
  });

  it('verifies webhooks', async () => {
    const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    const event = { id: 'ä', type: 'PetitionSigned', data: {}, organizationId: client.organizationId };
    const body = JSON.stringify(event);
    const signed = (at: Date, text = body) => ({
      'webhook-id': 'ä',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': `v1,forged v1a,other ${new Webhook(secret).sign('ä', at, text)}`,
    });
    const now = new Date();
    expect(await verifyWebhook(body, signed(now), secret)).toEqual(event);
    const { 'webhook-id': id, ...others } = signed(now);
    const bytes = Buffer.from(body);
    expect(await verifyWebhook(bytes, { ...others, 'webhook-id': id }, secret)).toEqual(event);
    const rejected: [string, Record<string, string>, string][] = [
      ['No signature matches', signed(now), `${body} `],
      ['No signature matches', { ...signed(now), 'webhook-signature': 'v1,%' }, body],
      ['older than five minutes', signed(new Date(now.getTime() - 301_000)), body],
      ['older than five minutes', { ...signed(now), 'webhook-timestamp': 'x' }, body],
      ['webhook-id is missing', others, body],
    ];
    for (const [message, headers, text] of rejected)
      await expect(verifyWebhook(text, headers, secret)).rejects.toThrow(message);
  });

  it.each(['', 'whsec_', 'whsec_YOUR-SECRET', 'whsec_…', 'changeme', 'changeme!', undefined, 'whsec_abc_-d'])(
    'rejects %j as the secret of a webhook, whatever signed the request',
    async (secret) => {
      const now = new Date();
      const headers = {
        'webhook-id': 'a',
        'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
        'webhook-signature': new Webhook(Buffer.alloc(1).toString('base64')).sign('a', now, '{}'),
      };
      const error = await verifyWebhook('{}', headers, secret!).catch((one: unknown) => one);
      expect(error).toBeInstanceOf(ConfigurationError);
    },
  );

  it('has the version of the server', () => {
    const versionIn = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8')).version;
    expect(versionIn('client/package.json')).toBe(versionIn('package.json'));
  });

  it('runs the examples of its README', async () => {
    const readme = readFileSync(join(root, 'client/README.md'), 'utf8');
    const examples = [...readme.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code!);
    const directory = mkdtempSync(join(tmpdir(), 'advocacy-client-'));
    const { key } = await api.organization();
    try {
      const names = examples.map((code, n) => {
        const here = code
          .replace('http://localhost:3000', api.origin)
          .replace('.listen(4000)', '.listen(0).close()');
        writeFileSync(join(directory, `${n}.ts`), here);
        return `./${n}.ts`;
      });
      const { outputFiles } = await build({
        stdin: {
          contents: names.map((name) => `await import('${name}');`).join('\n'),
          resolveDir: directory,
        },
        alias: { '@advocacy/client': join(root, 'client/src/index.ts') },
        bundle: true,
        write: false,
        format: 'esm',
        platform: 'node',
      });
      const file = join(directory, 'examples.mjs');
      writeFileSync(file, outputFiles[0]!.text);
      const { stdout } = await promisify(execFile)(process.execPath, [file], {
        env: { ...process.env, KEY: key, SECRET: 'whsec_' },
      });
      expect(stdout.split('\n')).toEqual(
        expect.arrayContaining([
          '1 signature',
          'lin@example.org',
          '1 petitions, no more',
          'The address belongs to Lin',
          'true',
          '2 created, 0 failed',
          expect.stringMatching(/^id,createdAt,/),
        ]),
      );
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
