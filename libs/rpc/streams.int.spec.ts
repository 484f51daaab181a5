import { type INestApplication, Module, type NestMiddleware, type MiddlewareConsumer } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CommandHandler, CqrsModule, QueryHandler } from '@nestjs/cqrs';
import * as swagger from '@nestjs/swagger';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { type Request, type Response } from 'express';
import { once } from 'node:events';
import { get, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { IncidentLog } from '#libs/database';
import { eventually } from '#libs/testing';
import { documentRoutes, ErrorFilter, Input, Integer, OneOf, Operation } from './index.js';
import { declareReasons, operationsModule, recordSchema, RpcError, undeclaredErrors } from './index.js';
import { identifyRequest, RpcExpressAdapter, ServerLife, StreamedAnswer, StreamedInput } from './index.js';
import { OperationRunner } from './index.js';

@Operation({
  method: 'POST',
  name: 'byte.count-bytes',
  object: 'bytes',
  summary: 'Count bytes',
  answers: recordSchema({ bytes: { type: 'integer' } }),
  bodyTypes: ['text/plain', 'text/csv'],
})
class CountBytes extends StreamedInput {
  @Integer({ min: 0, max: 1e12, optional: true })
  atMost?: number;
}

@CommandHandler(CountBytes)
class CountBytesHandler {
  async execute({ bytes, mediaType, atMost = Infinity, context }: CountBytes): Promise<object> {
    let count = 0;
    started.push(context.actor.id!);
    for await (const chunk of bytes) {
      count += chunk.length;
      if (count >= atMost) break;
    }
    return { bytes: count, mediaType };
  }
}

/** Keys whose bodies are being read. */
const started: string[] = [];
let chunks = 0;
let isEnded = false;

@Operation({
  method: 'GET',
  name: 'byte.list-bytes',
  object: 'bytes',
  summary: 'Send bytes',
  answers: recordSchema({ n: { type: 'integer' } }),
  answerTypes: ['application/x-ndjson', 'text/csv'],
})
class SendBytes extends Input {
  @Integer({ min: 0, max: 1e9, default: 3 })
  count!: number;

  @OneOf(['never', 'before', 'after'], { default: 'never' })
  fails!: string;
}

@QueryHandler(SendBytes)
class SendBytesHandler {
  execute({ count, fails }: SendBytes): Promise<StreamedAnswer> {
    chunks = 0;
    isEnded = false;
    async function* made() {
      try {
        if (fails === 'before') throw new Error('secret');
        for (; chunks < count; chunks += 1) {
          yield `{"n":${chunks}}${' '.repeat(10_000)}\n`;
          await sleep(0);
        }
        if (fails === 'after') throw new Error('secret');
      } finally {
        isEnded = true;
      }
    }
    return Promise.resolve(new StreamedAnswer('application/x-ndjson', 'bytes.ndjson', made()));
  }
}

@Operation({
  method: 'POST',
  name: 'byte.refuse-bytes',
  object: 'bytes',
  summary: 'Refuse bytes',
  answers: recordSchema({}),
  reasons: ['KEY_ENDED'],
})
class RefuseBytes extends Input {
  @OneOf(['KEY_ENDED', 'EMAIL_TAKEN', 'NOT_FOUND'])
  as!: 'KEY_ENDED' | 'EMAIL_TAKEN' | 'NOT_FOUND';
}

@CommandHandler(RefuseBytes)
class RefuseBytesHandler {
  execute({ as }: RefuseBytes): Promise<object> {
    throw as === 'NOT_FOUND' ? new RpcError(as, 'Why.') : new RpcError('CONFLICT', 'Why.', { reason: as });
  }
}

const { controllers = [], providers = [] } = operationsModule({
  CountBytes,
  CountBytesHandler,
  SendBytes,
  SendBytesHandler,
  RefuseBytes,
  RefuseBytesHandler,
});

@Module({ imports: [CqrsModule.forRoot()], controllers, providers: [OperationRunner, ...providers] })
class BytesModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(Known).forRoutes('{*path}');
  }
}

/** In place of the request log and the authentication. */
class Known implements NestMiddleware {
  use(request: Request, response: Response, next: () => void): void {
    identifyRequest(request, response);
    const { organization = 'o', key = 'k' } = request.headers as Record<string, string>;
    request.caller = { organizationId: organization, actor: { type: 'api-key', id: key }, scopes: ['*'] };
    next();
  }
}

let app: INestApplication;
let life: ServerLife;
let origin: string;
let errors: unknown[];
beforeEach(() => start({ failsUndeclared: true }));
afterEach(stop);

async function start({ failsUndeclared }: { failsUndeclared: boolean }): Promise<void> {
  errors = [];
  const logger = {
    log: () => undefined,
    warn: () => undefined,
    error: (message: unknown) => errors.push(message),
  };
  app = await NestFactory.create(BytesModule, new RpcExpressAdapter(), { logger, bodyParser: false });
  app.useGlobalFilters(new ErrorFilter((code) => code, new IncidentLog(logger), failsUndeclared));
  const server = app.getHttpServer();
  life = new ServerLife(server, (code) => code);
  await app.listen(0, '127.0.0.1');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function stop(): Promise<void> {
  await life.drain(0);
  await app.close();
}

async function until(isTrue: () => boolean): Promise<void> {
  await eventually(() => expect(isTrue()).toBe(true));
}

function post(path: string, headers: Record<string, string> = {}) {
  const sent = request(`${origin}/v1/byte.count-bytes${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'text/plain', ...headers },
  });
  sent.on('error', () => undefined);
  return sent;
}

async function answerTo(sent: ReturnType<typeof request>): Promise<{ status?: number; body: any }> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  return { status: response.statusCode!, body: JSON.parse(text) };
}

it.each(['gzip', 'br'])('a stream compressed with %s passes on each chunk immediately', async (encoding) => {
  const headers = { 'Accept-Encoding': encoding };
  const sent = get(`${origin}/v1/byte.list-bytes?count=100000`, { headers }).on('error', () => undefined);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  expect(response.headers['content-encoding']).toBe(encoding);
  const unpacked = response.pipe(encoding === 'gzip' ? createGunzip() : createBrotliDecompress());
  const [first] = (await once(unpacked, 'data')) as [Buffer];
  expect(first.toString()).toMatch(/^\{"n":0\}/);
  // Without flushing, hundreds of these chunks would wait for each other.
  expect(chunks).toBeLessThan(100);
  sent.destroy();
  await until(() => isEnded);
});

describe('an error that the operation', () => {
  const previous = declareReasons([{ CONFLICT: { KEY_ENDED: 'The key has ended.', EMAIL_TAKEN: 'Taken.' } }]);
  afterAll(() => declareReasons(previous));
  afterEach(() => undeclaredErrors.clear());
  const refuse = async (as: string) => {
    const body = JSON.stringify({ as });
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch(`${origin}/v1/byte.refuse-bytes`, { method: 'POST', body, headers });
    const { error } = (await answer.json()) as { error: { code: string; reason?: string } };
    return [answer.status, error.code, error.reason];
  };
  const UNDECLARED: [string, number, string, string | undefined][] = [
    ['CONFLICT EMAIL_TAKEN', 409, 'CONFLICT', 'EMAIL_TAKEN'],
    ['NOT_FOUND', 404, 'NOT_FOUND', undefined],
  ];
  const told = (what: string) => [
    expect.objectContaining({
      message: expect.stringMatching(/^undeclared error: /),
      error: `POST /v1/byte.refuse-bytes ${what}`,
    }),
  ];

  it('declares is returned', async () => {
    expect(await refuse('KEY_ENDED')).toEqual([409, 'CONFLICT', 'KEY_ENDED']);
    expect([errors, [...undeclaredErrors]]).toEqual([[], []]);
  });

  it.each(UNDECLARED)('does not declare, %s, fails in tests', async (what, _, code, reason) => {
    expect(await refuse(reason ?? code)).toEqual([500, 'INTERNAL_SERVER_ERROR', undefined]);
    expect(errors).toEqual([
      ...told(what),
      expect.objectContaining({ message: 'request failed', code: 'INTERNAL_SERVER_ERROR' }),
    ]);
    expect(undeclaredErrors.size).toBe(1);
  });

  it.each(UNDECLARED)(
    'does not declare, %s, is returned in production, and logged once',
    async (what, ...answer) => {
      await stop();
      await start({ failsUndeclared: false });
      const [, code, reason] = answer;
      for (let n = 0; n < 2; n += 1) expect(await refuse(reason ?? code)).toEqual(answer);
      expect(errors).toEqual(told(what));
    },
  );
});

describe('a streamed body', () => {
  it('reaches the handler whole, larger than any JSON body, with its type', async () => {
    const sent = post('', { 'Content-Type': ' Text/CSV ; charset="UTF-8"' });
    for (let n = 0; n < 48; n += 1) if (!sent.write('x'.repeat(65_536))) await once(sent, 'drain');
    sent.end();
    expect(await answerTo(sent)).toEqual({
      status: 200,
      body: { data: { bytes: 3 * 1024 * 1024, mediaType: 'text/csv' }, object: 'bytes' },
    });
  });

  it('gets its response before its end if the handler has read enough, and the connection stays usable', async () => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => (received += text));
    const head = (query: string, length: number) =>
      `POST /v1/byte.count-bytes${query} HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n` +
      `Content-Length: ${length}\r\n\r\n`;
    socket.write(`${head('?atMost=1', 5_000_000)}x`);
    await until(() => received.includes('"bytes":1,'));
    socket.write('x'.repeat(4_999_999));
    socket.write(`${head('', 2)}xx`);
    await until(() => received.includes('"bytes":2,'));
    socket.destroy();
  });

  it('that breaks off is not logged as an error', async () => {
    const begun = once(app.getHttpServer(), 'request') as Promise<[unknown, ServerResponse]>;
    const sent = post('');
    sent.write('x');
    const [, response] = await begun;
    const ended = once(response, 'close');
    sent.destroy();
    await ended;
    // Another request is served in the meantime.
    await (await fetch(`${origin}/v1/byte.list-bytes`)).text();
    expect(errors).toEqual([]);
  });

  it.each([
    [400, 'no body', '', { 'Content-Length': '0' }],
    [400, 'an unknown parameter', '?bytes=1', {}],
    [415, 'another type', '', { 'Content-Type': 'application/json' }],
    [415, 'no type', '', { 'Content-Type': '' }],
    [415, 'a type that only begins in the same way', '', { 'Content-Type': 'text/plainer' }],
    [415, 'another charset', '', { 'Content-Type': 'text/plain; charset=utf-16' }],
    [415, 'a compressed body', '', { 'Content-Encoding': 'br' }],
  ])('%s for %s', async (status, _, path, headers) => {
    const sent = post(path, headers);
    sent.end(status === 400 && path === '' ? '' : 'x');
    expect((await answerTo(sent)).status).toBe(status);
  });
});

describe('a streamed answer', () => {
  const open = async (query: string) => {
    const [response] = (await once(get(`${origin}/v1/byte.list-bytes?${query}`), 'response')) as [
      IncomingMessage,
    ];
    return response;
  };

  it('arrives whole, without an envelope, with its type', async () => {
    const response = await fetch(`${origin}/v1/byte.list-bytes`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    const lines = (await response.text()).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }]);
  });

  it('may be empty', async () => {
    const response = await fetch(`${origin}/v1/byte.list-bytes?count=0`);
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  it('is not created for HEAD', async () => {
    const response = await fetch(`${origin}/v1/byte.list-bytes?count=1000000000`, { method: 'HEAD' });
    expect([response.status, chunks, isEnded]).toEqual([200, 0, true]);
  });

  it('is created only as fast as it is read', async () => {
    const response = await open('count=1000000000');
    let before = -1;
    while (chunks !== before) {
      before = chunks;
      await sleep(300);
    }
    response.destroy();
  });

  it('ends without an error when the client disconnects', async () => {
    const response = await open('count=1000000000');
    response.destroy();
    await until(() => isEnded);
    expect(errors).toEqual([]);
  });

  it('returns an ordinary error if it fails before its first chunk', async () => {
    const response = await fetch(`${origin}/v1/byte.list-bytes?fails=before`);
    const body: any = await response.json();
    expect([response.status, body.error.code]).toEqual([500, 'INTERNAL_SERVER_ERROR']);
    expect(JSON.stringify(body)).not.toContain('secret');
    expect(errors).toEqual([expect.objectContaining({ message: 'request failed', reason: 'secret' })]);
  });

  it('is cut off and logged if it fails later', async () => {
    const response = await open('fails=after');
    const read = async () => {
      for await (const chunk of response) expect(chunk.length).toBeGreaterThan(0);
    };
    await expect(read()).rejects.toThrow('aborted');
    expect(errors).toEqual([expect.objectContaining({ message: 'request failed', reason: 'secret' })]);
  });

  it('is cut off by a drain without a grace period', async () => {
    const response = await open('count=1000000000');
    response.on('error', () => undefined).resume();
    const closed = new Promise((resolve) => response.once('close', resolve));
    await life.drain(50);
    await closed;
    expect(response.complete).toBe(false);
    await until(() => isEnded);
    expect(errors).toEqual([]);
  });
});

describe('simultaneous streams', () => {
  const held: { destroy(): unknown }[] = [];
  afterEach(() => {
    for (const stream of held.splice(0)) stream.destroy();
  });

  /** Opens an endless body, or a response that is not read. @returns the status if it is rejected */
  async function hold(organization: string, key: string, isAnswer = false): Promise<number | 'open'> {
    const before = [...started].length;
    const sent = isAnswer
      ? get(`${origin}/v1/byte.list-bytes?count=1000000000`, { headers: { organization, key } })
      : post('', { organization, key });
    sent.on('error', () => undefined);
    if (!isAnswer) sent.write('x');
    held.push(sent);
    const refused = once(sent, 'response').then(([response]) => (response as IncomingMessage).statusCode!);
    const begun = until(() => started.length > before).then(() => 'open' as const);
    return Promise.race([
      isAnswer ? refused.then((status) => (status === 200 ? 'open' : status)) : refused,
      begun,
    ]);
  }

  it('allows 4 per key and 8 per organization, for bodies and responses alike, and more when they end', async () => {
    const results = [];
    for (const [n, key] of ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'b', 'b', 'c'].entries()) {
      results.push(await hold('o', key, n % 2 === 1));
    }
    expect(results).toEqual(['open', 'open', 'open', 'open', 429, 'open', 'open', 'open', 'open', 429]);
    expect(await hold('another', 'd')).toBe('open');

    const refusal = async (key: string) => {
      const response = await fetch(`${origin}/v1/byte.list-bytes`, { headers: { organization: 'o', key } });
      const { error } = (await response.json()) as any;
      return [response.status, error.reason, error.message, response.headers.get('retry-after')];
    };
    const message = (who: string) =>
      `${who} imports, exports and uploads running, which is the limit. Try again when one has finished.`;
    expect(await refusal('a')).toEqual([429, 'STREAM_LIMIT', message('This API key has 4'), '5']);
    expect(await refusal('c')).toEqual([429, 'STREAM_LIMIT', message('Your organization has 8'), '5']);

    for (const stream of held.splice(0)) stream.destroy();
    await untilFree();
  });

  it('allows 32 per process, and a few organizations cannot use them all', async () => {
    const counts = [];
    for (const organization of 'ABCDEFGH') {
      let open = 0;
      while ((await hold(organization, `${organization}${open >> 2}`)) === 'open') open += 1;
      counts.push(open);
    }
    expect(counts).toEqual([8, 8, 8, 4, 2, 1, 1, 0]);
  });

  it('releases all streams of a closed connection, including those that never started', async () => {
    const { port } = new URL(origin);
    const head = 'Host: a\r\norganization: o\r\nkey: a\r\n\r\n';
    const ask = `GET /v1/byte.list-bytes?count=1000000000 HTTP/1.1\r\n${head}`;
    for (let round = 0; round < 5; round += 1) {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
      socket.pause().write(ask.repeat(4));
      await sleep(50);
      socket.resetAndDestroy();
    }
    await untilFree();
  });

  async function untilFree(): Promise<void> {
    const answers = async () => {
      const headers = { organization: 'o', key: 'a' };
      const sent = Array.from({ length: 4 }, () =>
        fetch(`${origin}/v1/byte.list-bytes?count=50`, { headers }),
      );
      const responses = await Promise.all(sent);
      await Promise.all(responses.map((response) => response.text()));
      return responses.map(({ status }) => status);
    };
    await eventually(async () => expect(await answers()).toEqual([200, 200, 200, 200]));
  }
});

it('the documentation names the media types, and the fields as query parameters', () => {
  documentRoutes(swagger);
  const { paths } = SwaggerModule.createDocument(app, new DocumentBuilder().build());
  const { post } = paths['/v1/byte.count-bytes'] as any;
  expect(Object.keys(post.requestBody.content)).toEqual(['text/plain', 'text/csv']);
  const parameters = post.parameters.map((parameter: any) => `${parameter.in} ${parameter.name}`).sort();
  expect(parameters).toEqual(['header Idempotency-Key', 'query atMost', 'query organizationId']);
  const { responses } = (paths['/v1/byte.list-bytes'] as any).get;
  expect(responses['200'].content).toEqual({
    'application/x-ndjson': { schema: recordSchema({ n: { type: 'integer' } }) },
    'text/csv': { schema: { type: 'string' } },
  });
  expect(Object.keys(responses['400'].content)).toEqual(['application/json']);
});
