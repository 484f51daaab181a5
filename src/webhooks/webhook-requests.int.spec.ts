import { type LookupAddress, type lookup as resolve } from 'node:dns';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { type EventStore, Keyring } from '#libs/event-store';
import { Destinations } from './destinations.js';
import { secretOf } from './signatures.js';
import { WebhookRequests } from './webhook-requests.js';
import { type ExistingWebhook } from './webhook.js';
import { longIt } from '../../test/length.js';

const ID = '01990a6e-1111-7000-8000-000000000001';
const keyring = new Keyring(Buffer.alloc(32, 7));

let receiver: Server;
let answer: (request: IncomingMessage & { text: string }, response: ServerResponse) => void;
let received = 0;
const made: WebhookRequests[] = [];

beforeAll(async () => {
  receiver = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      received += 1;
      answer(Object.assign(request, { text }), response);
    });
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
});
afterAll(() => {
  receiver.closeAllConnections();
  receiver.close();
});
beforeEach(() => {
  received = 0;
});
afterEach(() => made.splice(0).forEach((requests) => requests.end()));

function requestsTo(destinations: Destinations): WebhookRequests {
  const requests = new WebhookRequests({ keyring } as EventStore, destinations);
  made.push(requests);
  return requests;
}
const port = () => (receiver.address() as AddressInfo).port;
function webhookTo(url: string, more: Partial<ExistingWebhook> = {}): ExistingWebhook {
  return {
    url,
    description: null,
    eventTypes: null,
    status: 'ACTIVE',
    personalData: true,
    countsSince: '',
    secretNumber: 1,
    earlierSecrets: [],
    ...more,
  };
}
const send = (
  more: Partial<ExistingWebhook> = {},
  { url = `http://127.0.0.1:${port()}/hooks`, destinations = new Destinations(true) } = {},
) => requestsTo(destinations).send(ID, webhookTo(url, more), { id: 'event-1', body: '{"a":"ä"}' });

it('signs requests so that the Standard Webhooks library accepts them, with both secrets during an overlap', async () => {
  const checked: unknown[] = [];
  let headers: IncomingMessage['headers'] = {};
  answer = (request, response) => {
    ({ headers } = request);
    for (const number of [1, 2, 3]) {
      try {
        const given = headers as Record<string, string>;
        checked.push([
          number,
          new StandardWebhook(secretOf(keyring, ID, number)).verify(request.text, given),
        ]);
      } catch {
        checked.push([number, 'wrong']);
      }
    }
    response.end();
  };
  expect(await send()).toMatchObject({ delivered: true, statusCode: 200, reason: null });
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'webhook-id': 'event-1',
    'user-agent': expect.stringMatching(/^advocacy-webhooks/),
  });
  const soon = new Date(Date.now() + 60_000).toISOString();
  const past = new Date(Date.now() - 1).toISOString();
  await send({ secretNumber: 2, earlierSecrets: [{ number: 1, until: soon }] });
  await send({ secretNumber: 2, earlierSecrets: [{ number: 1, until: past }] });
  const body = { a: 'ä' };
  expect(checked).toEqual([
    [1, body],
    [2, 'wrong'],
    [3, 'wrong'],
    [1, body],
    [2, body],
    [3, 'wrong'],
    [1, 'wrong'],
    [2, body],
    [3, 'wrong'],
  ]);
});

it.each([
  [204, true],
  [299, true],
  [400, false],
  [410, false],
  [500, false],
])('reports delivered for status %d as %s', async (status, delivered) => {
  answer = (_, response) => response.writeHead(status).end(status === 204 ? undefined : 'x'.repeat(3_000));
  const attempt = await send();
  expect(attempt).toMatchObject({ delivered, statusCode: status });
  expect(attempt!.answer.length).toBe(status === 204 ? 0 : 1_024);
});

it('does not follow redirects', async () => {
  answer = (_, response) => response.writeHead(302, { location: `http://127.0.0.1:${port()}/other` }).end();
  expect(await send()).toMatchObject({
    delivered: false,
    statusCode: 302,
    reason: expect.stringContaining('redirect'),
  });
  expect(received).toBe(1);
});

it('stops reading an endless response at 64 KiB', async () => {
  let written = 0;
  answer = (_, response) => {
    const write = () => {
      if (response.destroyed) return;
      written += 16_384;
      response.write('y'.repeat(16_384), () => setImmediate(write));
    };
    write();
  };
  const attempt = await send();
  expect(attempt).toMatchObject({ delivered: true, statusCode: 200 });
  expect(attempt!.answer.toString()).toBe('y'.repeat(1_024));
  expect(written).toBeLessThan(16 * 1_024 * 1_024);
});

longIt('times out, but counts a response that has begun', async () => {
  let requests = 0;
  answer = (_, response) => {
    requests += 1;
    if (requests === 2) response.write('half');
  };
  const attempts = await Promise.all([send(), send()]);
  expect(attempts).toContainEqual(
    expect.objectContaining({
      delivered: false,
      statusCode: null,
      reason: expect.stringContaining('10 seconds'),
    }),
  );
  const half = attempts.find((attempt) => attempt?.delivered);
  expect([half!.statusCode, half!.answer.toString()]).toEqual([200, 'half']);
});

it('reports a failure if the receiver closes the connection, does not speak HTTP or does not listen', async () => {
  answer = (request) => void request.socket.destroy();
  expect(await send()).toMatchObject({ delivered: false, statusCode: null });
  const rude = createTcpServer((socket) => void socket.resume().end('220 mail.example.org ESMTP\r\n'));
  rude.listen(0, '127.0.0.1');
  await once(rude, 'listening');
  const { port: rudePort } = rude.address() as AddressInfo;
  expect(await send({}, { url: `http://127.0.0.1:${rudePort}/` })).toMatchObject({ delivered: false });
  rude.close();
  await once(rude, 'close');
  const unreachable = await send({}, { url: `http://127.0.0.1:${rudePort}/` });
  expect(unreachable!.reason).toMatch(/^Could not connect/);
});

it.each([200, 500])('uses the status of a truncated response with status %d', async (status) => {
  const rude = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(`HTTP/1.1 ${status} X\r\nContent-Length: 100\r\n\r\nhalf`));
  });
  rude.listen(0, '127.0.0.1');
  await once(rude, 'listening');
  const { port: rudePort } = rude.address() as AddressInfo;
  const attempt = await send({}, { url: `http://127.0.0.1:${rudePort}/` });
  expect(attempt).toMatchObject({ delivered: status === 200, statusCode: status });
  expect(attempt!.answer.toString()).toBe('half');
  rude.close();
});

longIt('closes idle connections even if the receiver keeps them open', async () => {
  const open = new Set<Socket>();
  const patient = createTcpServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
  });
  patient.listen(0, '127.0.0.1');
  await once(patient, 'listening');
  const { port: patientPort } = patient.address() as AddressInfo;
  await send({}, { url: `http://127.0.0.1:${patientPort}/` });
  expect(open.size).toBe(1);
  const [socket] = open;
  await once(socket!, 'close');
  patient.close();
});

it('reconnects if the receiver has closed an idle connection', async () => {
  answer = (_, response) => response.end();
  const requests = requestsTo(new Destinations(true));
  const url = `http://127.0.0.1:${port()}/`;
  const again = () => requests.send(ID, webhookTo(url), { id: 'e', body: '{}' });
  expect(await again()).toMatchObject({ delivered: true });
  let isFirst = true;
  answer = (request, response) => {
    if (isFirst) request.socket.destroy();
    else response.end();
    isFirst = false;
  };
  expect(await again()).toMatchObject({ delivered: true });
});

describe('destinations that are not allowed', () => {
  const NOWHERE = { delivered: false, statusCode: null, reason: expect.stringMatching(/^Could not connect/) };

  it('rejects a name that resolves to a public address first and to this machine when connecting', async () => {
    answer = (_, response) => response.end('a secret');
    const answers: LookupAddress[][] = [[{ address: '8.8.8.8', family: 4 }]];
    const resolver = ((
      _name: string,
      _options: object,
      callback: (error: null, found: LookupAddress[]) => void,
    ) =>
      callback(null, answers.shift() ?? [{ address: '127.0.0.1', family: 4 }])) as unknown as typeof resolve;
    const destinations = new Destinations(false, resolver);
    const url = `https://rebinding.example.org:${port()}/`;
    // The earlier lookup returned a public address.
    const before = await new Promise((done) =>
      destinations.lookup('rebinding.example.org', {}, (_, address) => done(address)),
    );
    expect(before).toBe('8.8.8.8');
    expect(await send({}, { url, destinations })).toMatchObject(NOWHERE);
    expect(received).toBe(0);
  });

  it('rejects addresses that were allowed when the webhook was created', async () => {
    for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0177.0.0.1']) {
      for (const scheme of ['http', 'https']) {
        const url = `${scheme}://${host}:${port()}/`;
        expect(await send({}, { url, destinations: new Destinations(false) })).toMatchObject(NOWHERE);
      }
    }
    expect(received).toBe(0);
  });

  it('reports an unknown name like one that resolves to this machine', async () => {
    const destinations = new Destinations(false);
    const reasons = await Promise.all(
      ['https://localhost.example.invalid/', 'https://no-such-name.invalid/'].map((url) =>
        send({}, { url, destinations }),
      ),
    );
    for (const attempt of reasons) expect(attempt).toMatchObject(NOWHERE);
  });
});
