import express, { type NextFunction, type Request, type Response } from 'express';
import { once } from 'node:events';
import { type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { type RpcError } from '#libs/rpc';
import { Concurrency } from './concurrency.js';
import { longIt } from '../../test/length.js';

let concurrency: Concurrency;
let server: Server;
let origin: string;
/** Responses of running requests, by organization. */
let held: { organization: string; response: Response }[];

beforeEach(async () => {
  concurrency = new Concurrency();
  concurrency.most = { caller: 4, instance: 10 };
  held = [];
  const app = express();
  app.set('trust proxy', true);
  app.use(concurrency.admit);
  app.get('/health/live', (_request, response) => void response.send('ok'));
  // The middleware in front of the authentication.
  app.get('/unknown', (_request, response) => void held.push({ organization: 'unknown', response }));
  app.get('/of/:organization', (request, response) => {
    const { organization } = request.params;
    request.caller = { organizationId: organization, actor: { type: 'api-key', id: 'k' }, scopes: [] };
    concurrency.admitCaller(request);
    held.push({ organization, response });
  });
  app.use((error: RpcError, _request: Request, response: Response, _next: NextFunction) => {
    response.status(error.status).set(error.details.headers!).json([error.details.reason, error.message]);
  });
  server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  concurrency.onModuleDestroy();
  server.close();
  server.closeAllConnections();
});

async function ask(
  path: string,
  from = '10.0.0.1',
  key = '',
): Promise<{ status: number; reason?: string; message?: string }> {
  const response = await fetch(origin + path, { headers: { 'X-Forwarded-For': from, Authorization: key } });
  const text = await response.text();
  if (response.status === 200) return { status: 200 };
  expect(response.headers.get('retry-after')).toBe('1');
  const [reason, message] = JSON.parse(text);
  return { status: response.status, reason, message };
}

/** Sends requests that keep running until one is rejected. Returns their number and the rejection. */
async function fill(path: string, from?: string, key?: string) {
  for (let admitted = 0; ; admitted += 1) {
    const before = held.length;
    const rejected = ask(path, from, key).catch(() => undefined);
    while (held.length === before) {
      const refusal = await Promise.race([rejected, new Promise((resolve) => setImmediate(resolve))]);
      if (refusal !== undefined) return { admitted, ...(refusal as Awaited<ReturnType<typeof ask>>) };
    }
  }
}

async function release(organization: string): Promise<void> {
  const ended = held.filter((one) => one.organization === organization);
  held = held.filter((one) => one.organization !== organization);
  for (const { response } of ended) {
    response.send('ok');
    await once(response, 'close');
  }
}

it('immediately returns 429 beyond the limit of an organization, and admits requests again when some have ended', async () => {
  const full = await fill('/of/a');
  expect(full).toEqual({
    admitted: 4,
    status: 429,
    reason: 'CONCURRENCY',
    message: 'Your organization has 4 concurrent requests, which is the limit. Wait for their responses.',
  });
  await release('a');
  expect((await fill('/of/a')).admitted).toBe(4);
});

it('returns 503 when the instance is full, and keeps places for other organizations', async () => {
  const results = [];
  for (const organization of 'abcdef') results.push(await fill(`/of/${organization}`));
  expect(results.map(({ admitted }) => admitted)).toEqual([4, 3, 2, 1, 0, 0]);
  expect(results.at(-1)).toEqual({
    admitted: 0,
    status: 503,
    reason: 'OVERLOADED',
    message: expect.stringContaining('0 of its requests are yours. Try again in a second.'),
  });
  expect(await ask('/health/live')).toEqual({ status: 200 });
  await release('a');
  expect((await fill('/of/e')).admitted).toBeGreaterThan(0);
});

it('returns 429 to an unknown caller without affecting other keys, addresses and known callers', async () => {
  concurrency.most = { caller: 4, instance: 14 };
  expect(await fill('/of/a')).toMatchObject({ admitted: 4 });
  expect(await fill('/unknown')).toMatchObject({ admitted: 4, status: 429, reason: 'CONCURRENCY' });
  expect(await fill('/unknown', undefined, 'Bearer adv_1')).toMatchObject({ admitted: 1, status: 503 });
  expect((await fill('/unknown', '10.0.0.2')).admitted).toBeGreaterThan(0);
  expect(await ask('/health/live')).toEqual({ status: 200 });
});

it('treats a /64 of IPv6 as one address', async () => {
  const admitted = [];
  for (const from of ['2001:db8::1', '2001:db8:0:0:1::', '2001:db8::5:6:7:8', '2001:db8:0:1::1']) {
    admitted.push((await fill('/unknown', from)).admitted);
  }
  expect(admitted).toEqual([4, 0, 0, 3]);
});

it('frees the places of a client that disconnects', async () => {
  const gone = new AbortController();
  const asked = Array.from({ length: 4 }, () =>
    fetch(`${origin}/of/a`, { signal: gone.signal }).catch(() => undefined),
  );
  while (held.length < 4) await new Promise(setImmediate);
  gone.abort();
  await Promise.all([...asked, ...held.map(({ response }) => response.closed || once(response, 'close'))]);
  held = [];
  expect((await fill('/of/a')).admitted).toBe(4);
});

it('keeps the places of a client that disconnects while its requests are running', async () => {
  const gone = new AbortController();
  const asked = Array.from({ length: 4 }, () =>
    fetch(`${origin}/of/a`, { signal: gone.signal }).catch(() => undefined),
  );
  while (held.length < 4) await new Promise(setImmediate);
  const requests = held.map(({ response }) => response.req as Request);
  for (const request of requests) request.isWorkedOn = true;
  gone.abort();
  await Promise.all([...asked, ...held.map(({ response }) => response.closed || once(response, 'close'))]);
  held = [];
  expect((await fill('/of/a')).admitted).toBe(0);
  for (const request of requests) {
    request.isWorkedOn = false;
    request.onWorked!();
  }
  expect((await fill('/of/a')).admitted).toBe(4);
});

it('frees the place of an unknown client that disconnects once', async () => {
  const gone = new AbortController();
  const asked = fetch(`${origin}/unknown`, { signal: gone.signal }).catch(() => undefined);
  while (held.length < 1) await new Promise(setImmediate);
  const [{ response }] = held as [(typeof held)[0]];
  gone.abort();
  await Promise.all([asked, response.closed || once(response, 'close')]);
  const request = response.req as Request;
  request.caller = { organizationId: 'a', actor: { type: 'api-key', id: 'k' }, scopes: [] };
  concurrency.admitCaller(request);
  held = [];
  expect([(await fill('/of/a')).admitted, (await fill('/unknown', '127.0.0.1')).admitted]).toEqual([4, 3]);
});

describe('while the event loop is late', () => {
  /** Keeps the event loop busy for this many checks of 250 ms, each of them late. */
  async function beLate(looks: number): Promise<void> {
    for (let n = 0; n < looks; n += 1) {
      // Blocks the thread without using CPU time.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  longIt(
    'rejects the callers with the most requests, admits others and health checks, and admits all again afterwards',
    async () => {
      concurrency.most = { caller: 100, instance: 1_000 };
      const many = Array.from({ length: 60 }, () => ask('/of/many').catch(() => undefined));
      while (held.length < 60) await new Promise(setImmediate);
      await beLate(3);
      expect(await ask('/of/many')).toMatchObject({ status: 503, reason: 'OVERLOADED' });
      const few = ask('/of/few').catch(() => undefined);
      while (held.length < 61) await new Promise(setImmediate);
      expect(await ask('/health/live')).toEqual({ status: 200 });
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      const again = ask('/of/many').catch(() => undefined);
      while (held.length < 62) await new Promise(setImmediate);
      await release('many');
      await release('few');
      await Promise.all([...many, few, again]);
    },
  );
});
