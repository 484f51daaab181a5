import {
  type ArgumentsHost,
  Body,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpCode,
  type INestApplication,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  NotFoundException,
  Param,
  Post,
  Query,
  Req,
  Res,
  StreamableFile,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import express, { type NextFunction, type Request, type Response } from 'express';
import { type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { RpcExpressAdapter } from './http-adapter.js';
import { ServerLife } from './http-server.js';

class Teapot extends Error {}

@Catch(Teapot)
class TeapotFilter implements ExceptionFilter {
  catch(_error: Teapot, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<Response>().status(418).json({ filtered: true });
  }
}

class Closed implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

@Controller('things')
class ThingsController {
  @Get('get-thing')
  look(@Req() request: Request, @Res({ passthrough: true }) response: Response): object {
    const { path, originalUrl, baseUrl, query, ip, protocol, hostname, params } = request;
    const isWired =
      request.res === response && response.req === request && typeof request.next === 'function';
    return {
      path,
      originalUrl,
      baseUrl,
      query,
      ip,
      protocol,
      hostname,
      params,
      isWired,
      locals: response.locals,
    };
  }

  @Get('query')
  query(@Query('a') a: unknown): object {
    return { a };
  }

  @Get('http-exception')
  throwHttpException(): never {
    throw new NotFoundException('no such thing');
  }

  @Get('plain-error')
  throwPlainError(): never {
    throw new Error('secret');
  }

  @Get('rejection')
  async reject(): Promise<never> {
    await new Promise((resolve) => setImmediate(resolve));
    throw new Error('secret');
  }

  @Get('filtered')
  @UseFilters(TeapotFilter)
  throwTeapot(): never {
    throw new Teapot();
  }

  @Get('guarded')
  @UseGuards(Closed)
  guarded(): string {
    return 'open';
  }

  @Post('count-bytes')
  @HttpCode(200)
  async count(@Req() request: Request): Promise<object> {
    let bytes = 0;
    for await (const chunk of request) bytes += (chunk as Buffer).length;
    return { bytes };
  }

  @Get('file')
  file(): StreamableFile {
    return new StreamableFile(Readable.from(['one,', 'two,', 'three']), { type: 'text/csv' });
  }

  @Get('named/:name')
  named(@Param('name') name: string): object {
    return { name };
  }

  @Post('get-thing')
  make(@Body() body: unknown): object {
    return { body };
  }
}

@Module({ controllers: [ThingsController] })
class ThingsModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer
      .apply((_request: Request, response: Response, next: NextFunction) => {
        (response.locals.order as string[]).push('module');
        next();
      })
      .forRoutes(ThingsController);
  }
}

async function start(adapter: ExpressAdapter): Promise<INestApplication> {
  const app = await NestFactory.create(ThingsModule, adapter, { bodyParser: false, logger: false });
  app.use((_request: Request, response: Response, next: NextFunction) => {
    response.locals.order = ['first'];
    next();
  });
  // Registers routes before later middleware, which keeps the order.
  SwaggerModule.setup('docs', app, SwaggerModule.createDocument(app, new DocumentBuilder().build()));
  app.use('/things', (request: Request, response: Response, next: NextFunction) => {
    (response.locals.order as string[]).push(`mounted at ${request.baseUrl}`);
    next();
  });
  app.use((request: Request, response: Response, next: NextFunction) => {
    (response.locals.order as string[]).push('last');
    if (request.headers['x-stop'] !== undefined) response.status(202).send('stopped');
    else if (request.headers['x-fail'] !== undefined) next(new Error('secret'));
    else next();
  });
  const http = adapter.getInstance<express.Express>();
  const small = express();
  small.get(
    '/hello',
    (request, response) => void response.json({ baseUrl: request.baseUrl, url: request.url }),
  );
  app.use('/mounted', small);
  http.get('/twice', (_request, response, next) => {
    response.locals.passed = true;
    next();
  });
  http.get('/twice', (_request, response) => void response.json(response.locals));
  http.options('/twice', (_request, response) => void response.sendStatus(204));
  http.get('/async', async () => {
    await Promise.reject(new Error('secret'));
  });
  http.set('trust proxy', 1);
  await app.listen(0, '127.0.0.1');
  return app;
}

const portOf = (app: INestApplication) => ((app.getHttpServer() as Server).address() as AddressInfo).port;

/** Sends bytes as they are, which fetch would not, and reads until the server closes. */
function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
    socket.on('close', () => resolve(answer)).on('error', reject);
  });
}

const ADAPTERS: [string, () => ExpressAdapter][] = [
  ['stock', () => new ExpressAdapter()],
  ['ours', () => new RpcExpressAdapter()],
];

describe.each(ADAPTERS)('an application on the %s adapter', (_name, makeAdapter) => {
  let app: INestApplication;
  let origin: string;

  beforeAll(async () => {
    app = await start(makeAdapter());
    origin = `http://127.0.0.1:${portOf(app)}`;
  });
  afterAll(() => app.close());

  const get = (path: string, init?: RequestInit) => fetch(origin + path, init);
  /** A request with this target, which fetch would normalize. */
  const getRaw = (target: string, method = 'GET') =>
    exchange(portOf(app), `${method} ${target} HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n`);

  it('passes a handler the request as Express describes it', async () => {
    const response = await get('/things/get-thing?a=1&b=2&b=3', {
      headers: { 'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'https' },
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      path: '/things/get-thing',
      originalUrl: '/things/get-thing?a=1&b=2&b=3',
      baseUrl: '',
      query: { a: '1', b: ['2', '3'] },
      ip: '203.0.113.9',
      protocol: 'https',
      hostname: '127.0.0.1',
      params: {},
      isWired: true,
      locals: { order: ['first', 'mounted at /things', 'last', 'module'] },
    });
  });

  it('runs middleware that responds instead of the handler', async () => {
    const response = await get('/things/get-thing', { headers: { 'X-Stop': '1' } });
    expect([response.status, await response.text()]).toEqual([202, 'stopped']);
  });

  it.each([
    ['/things/http-exception', {}, 404, { message: 'no such thing', error: 'Not Found', statusCode: 404 }],
    ['/things/plain-error', {}, 500, { message: 'Internal server error', statusCode: 500 }],
    ['/things/rejection', {}, 500, { message: 'Internal server error', statusCode: 500 }],
    ['/things/filtered', {}, 418, { filtered: true }],
    ['/things/guarded', {}, 403, { message: 'Forbidden resource', error: 'Forbidden', statusCode: 403 }],
    ['/things/get-thing', { 'X-Fail': '1' }, 500, { message: 'Internal server error', statusCode: 500 }],
    ['/async', {}, 500, { message: 'Internal server error', statusCode: 500 }],
    [
      '/things/no-such',
      {},
      404,
      { message: 'Cannot GET /things/no-such', error: 'Not Found', statusCode: 404 },
    ],
    ['/things/named/%ff', {}, 400, expect.objectContaining({ statusCode: 400 })],
  ])('%s with %j returns %i', async (path, headers, status, body) => {
    const response = await get(path, { headers });
    expect([response.status, await response.json()]).toEqual([status, body]);
  });

  it('responds to HEAD like to GET, without a body', async () => {
    const full = await get('/things/query?a=1');
    const head = await get('/things/query?a=1', { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers.get('content-length')).toBe(full.headers.get('content-length'));
    expect(await head.text()).toBe('');
  });

  it('responds to OPTIONS if a route accepts it', async () => {
    expect((await get('/things/get-thing', { method: 'OPTIONS' })).status).toBe(404);
    expect((await get('/twice', { method: 'OPTIONS' })).status).toBe(204);
  });

  it('returns 404 for another method', async () => {
    expect((await get('/things/query', { method: 'DELETE' })).status).toBe(404);
  });

  it('continues with the next route of the same path, once', async () => {
    expect(await (await get('/twice')).json()).toEqual({ order: ['first', 'last'], passed: true });
  });

  it('supports parameters, and applications mounted under a path', async () => {
    expect(await (await get('/things/named/a%20b')).json()).toEqual({ name: 'a b' });
    expect(await (await get('/mounted/hello?x')).json()).toEqual({ baseUrl: '/mounted', url: '/hello?x' });
  });

  it('passes streamed bodies on as they arrive', async () => {
    const chunk = new Uint8Array(64 * 1024);
    const body = Readable.toWeb(Readable.from(Array.from({ length: 48 }, () => chunk)));
    const response = await get('/things/count-bytes', {
      method: 'POST',
      body,
      duplex: 'half',
    });
    expect(await response.json()).toEqual({ bytes: 48 * chunk.length });
  });

  it('streams files', async () => {
    const response = await get('/things/file');
    expect(response.headers.get('content-type')).toBe('text/csv');
    expect(await response.text()).toBe('one,two,three');
  });

  it('serves the documentation with its assets', async () => {
    const page = await get('/docs');
    expect(page.headers.get('content-type')).toMatch('text/html');
    expect(await page.text()).toContain('swagger-ui');
    expect((await get('/docs/swagger-ui.css')).status).toBe(200);
    const description = (await (await get('/docs-json')).json()) as { paths: object };
    expect(description.paths).toHaveProperty(['/things/get-thing', 'get']);
  });

  it.each([
    ['/things/query?a=%ff', 200],
    ['/things/query%', 404],
    ['/things/query?', 200],
    ['/things/query?a=1?b', 200],
    ['/things/query#fragment', 200],
    ['/things/%71uery', 404],
    ['//things/query', 404],
    ['/things//query', 404],
    ['/things/../things/query', 404],
    ['http://example.org/things/query?a=1', 200],
    ['http://example.org', 404],
    ['*', 404],
  ])('target %s returns %i', async (target, status) => {
    expect(await getRaw(target)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it('serves pipelined requests in order', async () => {
    const head = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
    const answer = await exchange(
      portOf(app),
      head('/things/rejection') +
        head('/things/query?a=1') +
        head('/things/filtered', 'Connection: close\r\n'),
    );
    expect(answer.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 500', 'HTTP/1.1 200', 'HTTP/1.1 418']);
  });
});

describe('RpcExpressAdapter', () => {
  const adapter = new RpcExpressAdapter();
  let app: INestApplication;
  let origin: string;

  beforeAll(async () => {
    app = await start(adapter);
    origin = `http://127.0.0.1:${portOf(app)}`;
  });
  afterAll(() => app.close());

  it('reports the methods of exact paths', () => {
    expect(adapter.allowedMethods('/things/get-thing')).toEqual(['GET', 'HEAD', 'POST']);
    expect(adapter.allowedMethods('/things/count-bytes')).toEqual(['POST']);
    expect(adapter.allowedMethods('/things/named/:name')).toEqual([]);
    expect(adapter.allowedMethods('/things/no-such')).toEqual([]);
    expect(adapter.allowedMethods('constructor')).toEqual([]);
  });

  it.each(['/things/query/', '/Things/query', '/THINGS/QUERY', '/things/named/a/', '/Things/named/a'])(
    '%s is another path',
    async (path) => {
      expect((await fetch(origin + path)).status).toBe(404);
    },
  );

  it('sends neither X-Powered-By nor an ETag', async () => {
    const { headers } = await fetch(`${origin}/things/query`);
    expect([headers.get('x-powered-by'), headers.get('etag')]).toEqual([null, null]);
  });

  it('does not change the prototypes of requests and responses', async () => {
    const setPrototypeOf = jest.spyOn(Object, 'setPrototypeOf');
    const before: unknown[] = [];
    (app.getHttpServer() as Server).prependOnceListener('request', (request, response) => {
      before.push(Object.getPrototypeOf(request), Object.getPrototypeOf(response));
    });
    await fetch(`${origin}/things/query`);
    const set = setPrototypeOf.mock.calls.filter(
      ([target]) => 'httpVersion' in target || 'statusCode' in target,
    );
    setPrototypeOf.mockRestore();
    expect(set.map(([, prototype]) => prototype)).toEqual(before);
  });

  it('compares exact paths before regular expressions', async () => {
    const { stack } = adapter.getInstance<express.Express>().router as any;
    const asked: string[] = [];
    for (const layer of stack.filter(({ route }: any) => route)) {
      layer.matchers = layer.matchers.map((matcher: (path: string) => unknown) => (path: string) => {
        asked.push(layer.route.path);
        return matcher(path);
      });
    }
    await fetch(`${origin}/things/count-bytes`, { method: 'POST' });
    expect(asked).toContain('/things/count-bytes');
    expect(asked).not.toContain('/things/get-thing');
    expect(asked).not.toContain('/things/query');
  });

  it('passes its server to ServerLife', async () => {
    const other = await NestFactory.create(ThingsModule, new RpcExpressAdapter(), {
      bodyParser: false,
      logger: false,
    });
    const life = new ServerLife(other.getHttpServer() as Server, (code) => `http://localhost/errors/${code}`);
    other.use((_request: Request, response: Response, next: NextFunction) => {
      response.locals.order = [];
      next();
    });
    await other.listen(0, '127.0.0.1');
    expect((await fetch(`http://127.0.0.1:${portOf(other)}/things/query`)).status).toBe(200);
    expect(await exchange(portOf(other), 'GET /things/query HTTP/1.1\r\n\r\n')).toMatch(
      / 400 [^]*"BAD_REQUEST"/,
    );
    await life.drain();
    await other.close();
  });

  it.each([{ httpsOptions: {} }, { return503OnClosing: true }, { forceCloseConnections: true }])(
    'refuses %j',
    (options) => {
      expect(() => new RpcExpressAdapter().initHttpServer(options)).toThrow('takes no httpsOptions');
    },
  );
});
