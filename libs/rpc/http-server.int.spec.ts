import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DocsUrl } from './bare-answers.js';
import { ServerLife, timeouts } from './http-server.js';
import { allowLongBody } from './pacing.js';

const docsUrl: DocsUrl = (code, request) => `http://${request?.headers.host ?? 'localhost'}/errors/${code}`;

/** The bytes of one connection, as they arrive. */
class Client {
  received = '';
  readonly closed: Promise<void>;

  constructor(readonly socket: Socket) {
    socket.setEncoding('utf8').on('data', (chunk: string) => (this.received += chunk));
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => undefined);
  }

  send(text: string): this {
    this.socket.write(text);
    return this;
  }

  async receives(text: string): Promise<void> {
    await until(
      () => this.received.includes(text),
      () => `${text} in: ${this.received}`,
    );
  }

  async whole(): Promise<string> {
    await this.closed;
    return this.received;
  }
}

async function until(isTrue: () => boolean, describe: () => string, withinMs = 60_000): Promise<void> {
  for (const end = Date.now() + withinMs; !isTrue(); await sleep(5)) {
    if (Date.now() > end) throw new Error(`waited in vain for ${describe()}`);
  }
}

const request = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: api.example.org\r\n${more}\r\n`;

function parse(answer: string) {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  const [status = '', ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(lines.map((line) => line.toLowerCase().split(': ')));
  return { status: Number(status.split(' ')[1]), headers, body: body === '' ? undefined : JSON.parse(body) };
}

/** A test that waits for this long times out. */
const A_LONG_GRACE_MS = 600_000;

describe('ServerLife', () => {
  let server: Server;
  let life: ServerLife;
  let clients: Client[];
  /** The server's ends of the connections, by the ports of the clients. */
  let accepted: Map<number, Socket>;
  let port: number;
  /** Responds to the requests for `/wait`. */
  let release: (() => void) | undefined;
  /** The last request that gets no response. */
  let hung: IncomingMessage | undefined;
  let started: string[];
  /** Responses that were notified of their end. */
  let closed: string[];

  const serve: RequestListener = (request, response) => {
    started.push(request.url!);
    response.once('close', () => closed.push(request.url!));
    if (request.url === '/wait') release = () => response.end('waited');
    else if (request.url === '/begin') {
      response.write('begun');
      release = () => response.end(' ended');
    } else if (request.url === '/endless') {
      const chunk = Buffer.alloc(256 * 1024);
      const write = () => response.destroyed || (response.write(chunk) ? setImmediate(write) : undefined);
      response.on('drain', write);
      write();
    } else if (request.url === '/large') response.end(Buffer.alloc(32 * 1024 * 1024, 'x'));
    else if (request.url === '/body' || request.url === '/long-body') {
      if (request.url === '/long-body') allowLongBody(request, response);
      request.resume().on('end', () => response.end('read'));
    } else if (request.url === '/hung-export') {
      request.isStream = true;
      hung = request;
      response.write('begun');
    } else if (request.url === '/hung-import') {
      allowLongBody(request, response);
      hung = request;
    } else if (request.url === '/hung') hung = request;
    else if (request.url === '/busy-body') {
      allowLongBody(request, response);
      release = () => request.resume().on('end', () => response.end('read'));
    } else response.end('ok');
  };

  async function start(
    options: { lookMs?: number; lingerMs?: number; mostConnections?: number } = {},
  ): Promise<void> {
    server = createServer({ requireHostHeader: false, connectionsCheckingInterval: 20 }, serve);
    server.on('connection', (socket) => accepted.set(socket.remotePort!, socket));
    life = new ServerLife(server, docsUrl, options);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  }

  beforeEach(async () => {
    clients = [];
    accepted = new Map();
    started = [];
    closed = [];
    release = undefined;
    await start();
  });
  afterEach(async () => {
    for (const { socket } of clients) socket.destroy();
    await life.drain(0);
  });

  async function open(): Promise<Client> {
    const connected = connect(port, '127.0.0.1');
    const client = new Client(connected);
    clients.push(client);
    await new Promise((resolve, reject) => connected.once('connect', resolve).once('error', reject));
    return client;
  }
  const ownEnd = ({ socket }: Client) => accepted.get(socket.localPort!);
  /** Waits until the server has read all that the client has sent. */
  const arrived = (client: Client) =>
    until(
      () => ownEnd(client)?.bytesRead === client.socket.bytesWritten,
      () => `${client.socket.bytesWritten} bytes of ${ownEnd(client)?.bytesRead}`,
    );
  /** Waits until the server has served another connection. By then it has sent everything that was due before. */
  const othersAreServed = async () => {
    for (let n = 0; n < 2; n += 1) await (await open()).send(request('/other')).receives('ok');
  };
  const startedHere = () => started.filter((path) => path !== '/other');
  const begin = async (path: string) => {
    const client = (await open()).send(request(path));
    await until(
      () => started.includes(path),
      () => path,
    );
    return client;
  };

  it('keeps idle connections longer than load balancers do', () => {
    expect(server.keepAliveTimeout).toBe(timeouts.keepAliveTimeout);
    expect(timeouts.keepAliveTimeout).toBeGreaterThan(60_000);
    expect(server).toMatchObject(timeouts);
  });

  describe('drain', () => {
    it('ends immediately if no request is running, and closes idle connections', async () => {
      const idle = (await open()).send(request('/'));
      await idle.receives('ok');
      await life.drain(A_LONG_GRACE_MS);
      await idle.closed;
      await expect(open()).rejects.toThrow('ECONNREFUSED');
    });

    it('closes idle connections, waits for running requests and then closes theirs', async () => {
      const idle = (await open()).send(request('/'));
      await idle.receives('ok');
      const running = await begin('/wait');
      const drained = life.drain(A_LONG_GRACE_MS);
      await idle.closed;
      release!();
      expect(await running.whole()).toMatch(/^HTTP\/1.1 200 OK\r\nConnection: close\r\n[^]*waited/);
      await drained;
    });

    it('closes a connection whose response had already begun, once the response is sent', async () => {
      const running = await begin('/begin');
      await running.receives('begun');
      const drained = life.drain(A_LONG_GRACE_MS);
      release!();
      await drained;
      expect(await running.whole()).toMatch(/ ended\r\n0\r\n\r\n$/);
    });

    it('returns 503 for new requests, on new connections and after a running one', async () => {
      const early = await open();
      const running = await begin('/begin');
      const drained = life.drain(A_LONG_GRACE_MS);
      await arrived(running.send(request('/behind')));
      early.send(request('/early', 'X-Request-Id: mine\r\n'));
      const late = (await open()).send(request('/late'));
      const { status, headers, body } = parse(await early.whole());
      expect(status).toBe(503);
      expect(headers).toMatchObject({ connection: 'close', 'retry-after': '1', 'x-request-id': 'mine' });
      expect(body).toEqual({
        error: {
          code: 'SERVICE_UNAVAILABLE',
          reason: 'SHUTTING_DOWN',
          message: 'This instance is shutting down. Send the request again.',
          docs: 'http://api.example.org/errors/SERVICE_UNAVAILABLE#SHUTTING_DOWN',
          requestId: 'mine',
        },
      });
      expect(parse(await late.whole()).status).toBe(503);
      release!();
      expect(await running.whole()).toMatch(/ ended[^]*HTTP\/1.1 503/);
      await drained;
      expect(started).toEqual(['/begin']);
    });

    it('returns 503 for a request whose body is still being sent, even if the client reads late', async () => {
      const running = await begin('/wait');
      const drained = life.drain(A_LONG_GRACE_MS);
      const upload = await open();
      upload.socket.pause();
      upload.send('POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n');
      await arrived(upload);
      upload.send('x'.repeat(2_000_000));
      await arrived(upload);
      upload.socket.resume();
      expect(parse(await upload.whole()).status).toBe(503);
      release!();
      await Promise.all([drained, running.closed]);
    });

    it('sends the complete response to a client that reads slowly', async () => {
      const slow = await begin('/large');
      slow.socket.pause();
      const idle = (await open()).send(request('/'));
      await idle.receives('ok');
      const drained = life.drain(A_LONG_GRACE_MS);
      await idle.closed;
      slow.socket.resume();
      expect((await slow.whole()).length).toBeGreaterThan(32 * 1024 * 1024);
      await drained;
    });

    it('cuts requests that do not finish within the grace period', async () => {
      const waiting = await begin('/wait');
      const unread = await begin('/endless');
      unread.socket.pause();
      const half = (await open()).send('GET / HTTP/1.1\r\nHost: a');
      const halfBody = (await open()).send('POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx');
      const silent = await open();
      const pipelined = (await open()).send(request('/wait') + request('/wait'));
      await until(
        () => started.length === 4,
        () => `four requests in ${started.join()}`,
      );
      await life.drain(200);
      unread.socket.resume();
      await Promise.all([waiting, unread, half, halfBody, silent, pipelined].map(({ closed }) => closed));
    });

    it('ends regardless of what clients do', async () => {
      await begin('/wait');
      (await begin('/endless')).socket.pause();
      (await open()).send('GET / HTTP/1.1\r\nHost: a');
      (await open()).send('CONNECT example.org:443 HTTP/1.1\r\nHost: a\r\n\r\n');
      await life.drain(200);
      let left = Infinity;
      await until(
        () => {
          server.getConnections((_error, count) => (left = count));
          return left === 0;
        },
        () => `the end of ${left} connections`,
      );
    });

    it('does not wait for requests whose client disconnected, even if they are queued on the connection', async () => {
      const gone = (await open()).send(request('/wait') + request('/wait'));
      await until(
        () => started.length === 1,
        () => 'a request',
      );
      gone.socket.destroy();
      await until(
        () => closed.length === 1,
        () => 'its end',
      );
      await life.drain(A_LONG_GRACE_MS);
    });

    it('ends once if called twice', async () => {
      const running = await begin('/wait');
      const ends = [life.drain(A_LONG_GRACE_MS), life.drain(A_LONG_GRACE_MS)];
      release!();
      await Promise.all([...ends, running.closed]);
    });
  });

  describe('requests that do not reach the application', () => {
    const chunked = 'POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';

    it.each([
      ['no HTTP', 'hello\r\n\r\n', 'This is not a valid HTTP request.'],
      ['unknown method', 'FOO / HTTP/1.1\r\nHost: a\r\n\r\n', 'This is not a valid HTTP request.'],
      ['large headers', request('/', `X: ${'x'.repeat(200_000)}\r\n`), 'larger than 16384 bytes'],
      ['large path', request(`/${'x'.repeat(200_000)}`), 'larger than 16384 bytes'],
      ['body not as announced', `${chunked}nonsense\r\n`, 'This is not a valid HTTP request.'],
      ['no Host', 'GET / HTTP/1.1\r\n\r\n', 'The request has no Host header.'],
      ['unknown Expect', request('/', 'Expect: miracles\r\n'), 'only supported Expect header'],
    ])('%s returns 400 in the envelope', async (_name, text, message) => {
      const { status, headers, body } = parse(await (await open()).send(text).whole());
      expect(status).toBe(400);
      expect(headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        connection: 'close',
      });
      expect(body.error).toEqual({
        code: 'BAD_REQUEST',
        message: expect.stringContaining(message),
        docs: expect.stringMatching(/^http:\/\/[^/]+\/errors\/BAD_REQUEST$/),
        requestId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      });
      expect(headers['x-request-id']).toBe(body.error.requestId);
    });

    it('a client that keeps sending and reads late still gets its response', async () => {
      await life.drain(0);
      await start({ lingerMs: A_LONG_GRACE_MS });
      const client = await open();
      client.socket.pause();
      for (const piece of ['GET / HTTP/1.1\r\nX: ', 'x'.repeat(100_000), 'x'.repeat(1_000_000)]) {
        client.send(piece);
        await arrived(client);
      }
      client.socket.resume();
      expect(parse(await client.whole()).status).toBe(400);
    });

    it('CONNECT returns 405 with Allow', async () => {
      const client = (await open()).send('CONNECT example.org:443 HTTP/1.1\r\nHost: a\r\n\r\n');
      const { status, headers, body } = parse(await client.whole());
      expect([status, body.error.code]).toEqual([405, 'METHOD_NOT_ALLOWED']);
      expect(headers.allow).toBe('get, post, delete');
    });

    it('an Upgrade request is served as an ordinary request', async () => {
      const upgrade = request('/', 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n');
      await (await open()).send(upgrade).receives('ok');
    });

    it('accepts HTTP/1.0 without Host', async () => {
      expect(await (await open()).send('GET / HTTP/1.0\r\n\r\n').whole()).toMatch(/^HTTP\/1.1 200/);
    });

    it('supports Expect: 100-continue', async () => {
      const head = 'POST /body HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n';
      const client = (await open()).send(head);
      await client.receives('100 Continue');
      await client.send('x').receives('read');
    });

    it('writes nothing into a response that has begun', async () => {
      const running = (await open()).send(chunked.replace('/body', '/begin'));
      await running.receives('begun');
      running.send('nonsense\r\n');
      expect((await running.whole()).match(/HTTP\/1.1/g)).toHaveLength(1);
    });

    it('writes nothing before the responses to earlier requests', async () => {
      let isRefused = false;
      server.once('clientError', () => (isRefused = true));
      const client = (await open()).send(`${request('/wait')}nonsense\r\n\r\n`);
      await until(
        () => started.length === 1 && isRefused,
        () => 'the first request',
      );
      await othersAreServed();
      expect(client.received).toBe('');
      release!();
      expect((await client.whole()).match(/HTTP\/1.1 \d+|waited/g)).toEqual([
        'HTTP/1.1 200',
        'waited',
        'HTTP/1.1 400',
      ]);
    });

    const connectTo = 'CONNECT example.org:443 HTTP/1.1\r\nHost: a\r\n\r\n';

    /** A reset without a listener is an uncaught exception, which would end the test's process. */
    it.each([
      ['before its request', ''],
      ['in its headers', 'GET / HTTP/1.1\r\nHost'],
      ['in its body', 'POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx'],
      ['in a long body', 'POST /long-body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx'],
      ['before its response', request('/wait')],
      ['during its response', request('/endless')],
      ['before one of many responses', request('/wait').repeat(300)],
      ['after CONNECT', connectTo],
      ['after CONNECT and more', connectTo + 'x'.repeat(100_000)],
      ['after CONNECT behind another request', request('/wait') + connectTo],
      ['after CONNECT behind a response that has begun', request('/begin') + connectTo],
      ['after an Upgrade', request('/wait', 'Connection: Upgrade\r\nUpgrade: websocket\r\n')],
      ['after an unknown Expect', request('/', 'Expect: miracles\r\n')],
      ['after an invalid request', 'nonsense\r\n\r\n'],
      ['after an invalid request behind another', `${request('/wait')}nonsense\r\n\r\n`],
    ])('survives a client that resets its connection %s', async (_when, text) => {
      // Immediately, in the same tick as the response, and after it; with and without reading.
      for (const wait of [undefined, 0, 1, 5, 30]) {
        for (const reads of [true, false]) {
          const client = await open();
          if (!reads) client.socket.pause();
          client.socket.write(text);
          if (wait !== undefined) await sleep(wait);
          client.socket.resetAndDestroy();
          await client.closed;
        }
      }
      // The waiting request gets its response now, on a closed connection.
      release?.();
      await (await open()).send(request('/')).receives('ok');
      // Running requests are counted until this event.
      await until(
        () => [...closed].sort().join() === [...started].sort().join(),
        () => `the end of ${started.length} responses, of which ${closed.length} were told`,
      );
    });

    it.each([
      ['before its request', '', ''],
      ['in its headers', 'GET / HTTP/1.1\r\nHost', 'HTTP/1.1 400'],
      ['in its body', 'POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx', 'HTTP/1.1 400'],
      ['after CONNECT', connectTo, 'HTTP/1.1 405'],
      ['after its request', request('/'), 'HTTP/1.1 200'],
    ])('responds to a client that has closed its half %s', async (_when, text, status) => {
      const client = await open();
      client.socket.end(text);
      expect((await client.whole()).slice(0, status.length)).toBe(status);
    });

    it('uses no additional memory for bytes after an invalid request', async () => {
      const client = (await open()).send(`${request('/wait')}nonsense\r\n\r\n`);
      let response: ServerResponse | undefined;
      server.prependOnceListener('request', (_request, its) => (response = its));
      await until(
        () => response !== undefined && started.length === 1,
        () => 'the first request',
      );
      for (let n = 0; n < 50; n += 1) {
        client.send('x');
        await arrived(client);
      }
      expect(response!.listenerCount('close')).toBeLessThan(10);
      release!();
      expect((await client.whole()).match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
    });

    it('keeps running if a connection cannot be accepted', async () => {
      server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }));
      await (await open()).send(request('/')).receives('ok');
    });
  });

  describe('timeouts', () => {
    it('half a request returns 400', async () => {
      const client = (await open()).send('GET / HTTP/1.1\r\nHost: a');
      await arrived(client);
      server.headersTimeout = 100;
      const { status, body } = parse(await client.whole());
      expect([status, body.error.message]).toEqual([
        400,
        'The request did not arrive in time. Send it again.',
      ]);
    });

    it('a connection without a request is closed without a response', async () => {
      server.headersTimeout = 100;
      expect(await (await open()).whole()).toBe('');
    });

    it('a body that takes too long returns 400, but one with a longer limit is read', async () => {
      const post = (path: string) => `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx`;
      const long = (await open()).send(post('/long-body'));
      const late = (await open()).send(post('/body'));
      await Promise.all([arrived(long), arrived(late)]);
      server.headersTimeout = server.requestTimeout = 100;
      expect(parse(await late.whole()).status).toBe(400);
      // It began before this one, which has also timed out.
      const later = (await open()).send(post('/body'));
      await later.closed;
      await long.send('x').receives('read');
      // The limit starts again for the connection's next request.
      expect((await long.send(post('/body')).whole()).match(/HTTP\/1.1 \d+/g)).toEqual([
        'HTTP/1.1 200',
        'HTTP/1.1 400',
      ]);
    });

    it('a long body is aborted if no more bytes arrive', async () => {
      server.timeout = 200;
      const stalled = (await open()).send(
        'POST /long-body HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx',
      );
      expect(await stalled.whole()).toBe('');
    });
  });

  it('processes one request per connection at a time, and responds in order', async () => {
    const client = (await open()).send(
      request('/wait').repeat(3) + request('/last', 'Connection: close\r\n'),
    );
    for (const count of [1, 2, 3]) {
      await until(
        () => startedHere().length === count,
        () => `request ${count}`,
      );
      await othersAreServed();
      expect(startedHere()).toHaveLength(count);
      release!();
    }
    const answer = await client.whole();
    expect(answer.match(/waited|ok$/g)).toEqual(['waited', 'waited', 'waited', 'ok']);
  });

  it('does not start a queued request whose connection is closed', async () => {
    const client = (await open()).send(request('/wait').repeat(3));
    await until(
      () => started.length === 1,
      () => 'a request',
    );
    client.socket.destroy();
    await until(
      () => closed.length === 1,
      () => 'its end',
    );
    await othersAreServed();
    expect([startedHere(), closed.filter((path) => path !== '/other')]).toEqual([['/wait'], ['/wait']]);
  });

  it('responds to 64 pipelined requests, then closes the connection', async () => {
    // In one write, and in several. The rest is read and dropped.
    for (const parts of [1, 30]) {
      started = [];
      const flood = await open();
      for (let part = 0; part < parts; part += 1) flood.send(request('/').repeat(1_900));
      const answers = await flood.whole();
      expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual(new Array(64).fill('HTTP/1.1 200'));
      expect(answers.match(/^Connection: close/gim)).toHaveLength(1);
      expect(started).toHaveLength(64);
    }
    const patient = (await open()).send(request('/').repeat(60) + request('/', 'Connection: close\r\n'));
    expect((await patient.whole()).match(/HTTP\/1.1 200 OK/g)).toHaveLength(61);
  });

  /** Each check counts as one second. The test triggers them itself. */
  const BY_HAND = { lookMs: 86_400_000 };
  const look = (times: number) => {
    for (let n = 0; n < times; n += 1) life.look();
  };
  /** Checks until the server has closed the connection. */
  async function lookUntilClosed(client: Client): Promise<void> {
    let isOver = false;
    void client.closed.then(() => (isOver = true));
    await until(
      () => {
        life.look();
        return isOver;
      },
      () => 'the end of a connection',
    );
  }

  describe('slow clients', () => {
    const post = (path: string) => `POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const chunk = (size: number) => `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`;

    beforeEach(async () => {
      await life.drain(0);
      await start(BY_HAND);
    });

    it('get 400 for a long body of single bytes, while a faster one is read', async () => {
      const slow = (await open()).send(post('/long-body'));
      const fast = (await open()).send(post('/long-body'));
      await Promise.all([arrived(slow), arrived(fast)]);
      for (let looks = 0; ownEnd(slow)!.writable; looks += 1) {
        expect(looks).toBeLessThan(60);
        await Promise.all([arrived(slow.send(chunk(1))), arrived(fast.send(chunk(65_536)))]);
        life.look();
      }
      const { status, body } = parse(await slow.whole());
      expect([status, body.error.message]).toEqual([
        400,
        'The body did not arrive in time. Send at least 1024 bytes a second.',
      ]);
      await fast.send('0\r\n\r\n').receives('read');
    });

    it('get 400 for a long body that stops', async () => {
      const client = (await open()).send(post('/long-body') + chunk(5));
      await lookUntilClosed(client);
      expect(parse(client.received).status).toBe(400);
    });

    it('are not charged for the time they wait for the server', async () => {
      const client = (await open()).send(post('/busy-body') + chunk(5));
      await arrived(client);
      look(45);
      await othersAreServed();
      expect([client.received, client.socket.readyState]).toEqual(['', 'open']);
      release!();
      await client.send('0\r\n\r\n').receives('read');
    });

    it('are cut if they do not read the response, even if they keep sending', async () => {
      const unread = (await open()).send(request('/endless'));
      unread.socket.pause();
      await until(
        () => {
          unread.send('GET');
          life.look();
          return closed.includes('/endless');
        },
        () => 'the end of an answer',
      );
      expect(closed).toEqual(['/endless']);
    });

    it('are not cut if they read slowly, however long the response takes', async () => {
      const slow = (await open()).send(request('/large'));
      let read = 0;
      let looks = 0;
      slow.socket.on('data', (text: string) => {
        read += text.length;
        slow.socket.pause();
        // Reading makes room for more, which the server has written by then.
        setTimeout(() => slow.socket.resume(), 1);
        if (read < (looks + 1) * 256 * 1024) return;
        looks += 1;
        life.look();
      });
      await until(
        () => read > 32 * 1024 * 1024,
        () => `32 MiB in ${read}`,
      );
      // Longer than a client may pause.
      expect(looks).toBeGreaterThan(60);
    });
  });

  describe('a request without a response', () => {
    beforeEach(async () => {
      await life.drain(0);
      await start(BY_HAND);
    });
    const post = (path: string, length: number, body = '') =>
      `POST ${path} HTTP/1.1\r\nHost: api.example.org\r\nContent-Length: ${length}\r\n\r\n${body}`;

    it.each([
      ['GET', request('/hung'), 'The response was not ready in time, so processing stopped.'],
      ['a POST whose body is unread', post('/hung', 5, 'small'), 'with the same Idempotency-Key'],
      ['an import in the middle of its body', post('/hung-import', 1_000_000, 'x'), 'Idempotency-Key'],
    ])('503 DEADLINE_EXCEEDED with Retry-After: %s', async (_, text, message) => {
      const client = (await open()).send(text);
      await lookUntilClosed(client);
      const { status, headers, body } = parse(client.received);
      expect([status, headers['retry-after'], headers.connection]).toEqual([503, '5', 'close']);
      expect(body.error).toEqual({
        code: 'SERVICE_UNAVAILABLE',
        reason: 'DEADLINE_EXCEEDED',
        message: expect.stringContaining(message),
        docs: 'http://api.example.org/errors/SERVICE_UNAVAILABLE#DEADLINE_EXCEEDED',
        requestId: headers['x-request-id'],
      });
      expect(hung!.isGivenUp).toBe(true);
    });

    it('cuts the connection if a response had begun', async () => {
      const client = await open();
      await client.send(request('/hung-export')).receives('begun');
      await lookUntilClosed(client);
      const answer = client.received;
      expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*begun/);
      expect(answer).not.toContain('\r\n0\r\n');
    });

    it('does not count the time in which the client sends its body', async () => {
      const client = (await open()).send(post('/body', 2_000));
      for (let sent = 0; sent < 2_000; sent += 20) {
        await arrived(client.send('x'.repeat(20)));
        life.look();
      }
      await client.receives('read');
    });

    it('counts the time of each request on a connection separately', async () => {
      const client = await open();
      for (let n = 0; n < 8; n += 1) {
        const before = client.received.length;
        client.send(request('/wait'));
        await until(
          () => started.length === n + 1,
          () => 'a start',
        );
        look(20);
        release!();
        await until(
          () => client.received.slice(before).includes('waited'),
          () => 'the answer',
        );
      }
    });
  });

  it('closes connections with their next response before the drain, and serves all requests', async () => {
    const idle = (await open()).send(request('/'));
    await idle.receives('ok');
    const running = await begin('/wait');
    life.startDraining();
    release!();
    const closing = /^HTTP\/1.1 200 OK\r\n[^]*Connection: close\r\n/;
    expect(await running.whole()).toMatch(closing);
    expect(await idle.send(request('/')).whole()).toContain('Connection: close');
    expect(await (await open()).send(request('/')).whole()).toMatch(closing);
  });

  it('serves one path until the very end', async () => {
    await life.drain(0);
    server = createServer({ requireHostHeader: false }, serve);
    life = new ServerLife(server, docsUrl, { servedToTheEnd: '/alive' });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
    await begin('/wait');
    const drained = life.drain(A_LONG_GRACE_MS);
    expect(parse(await (await open()).send(request('/other')).whole()).status).toBe(503);
    expect(await (await open()).send(request('/alive')).whole()).toContain('200 OK');
    release!();
    await drained;
  });

  describe('more connections than the server allows', () => {
    beforeEach(async () => {
      await life.drain(0);
      await start({ mostConnections: 4 });
    });

    const isOpen = (client: Client) => client.socket.readyState === 'open';

    it('closes connections without a request first, then the longest idle ones, and none with a running request', async () => {
      const waiting = await begin('/wait');
      const [first, second] = [await open(), await open()];
      await first.send(request('/')).receives('ok');
      await second.send(request('/')).receives('ok');
      await first.send(request('/')).receives('ok');
      const silent = (await open()).send('GET / HTTP');
      await arrived(silent);

      const one = await begin('/begin');
      await silent.closed;
      const two = await begin('/begin');
      await second.closed;
      const three = await begin('/begin');
      await first.closed;
      for (let n = 0; n < 2; n += 1) await (await open()).closed;
      expect([waiting, one, two, three].map(isOpen)).toEqual([true, true, true, true]);
      release!();
      await three.receives('ended');
      await (await open()).send(request('/')).receives('ok');
    });

    it('serves clients that send a request immediately, during a flood of those that never do', async () => {
      await life.drain(0);
      await start({ mostConnections: 100 });
      let isOver = false;
      const flood = (async () => {
        while (!isOver) await open();
      })();
      for (let n = 0; n < 50; n += 1) await (await open()).send(request('/')).receives('ok');
      isOver = true;
      await flood;
    });
  });
});
