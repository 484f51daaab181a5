import { type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type NestExpressApplication } from '@nestjs/platform-express';
import * as swagger from '@nestjs/swagger';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { type NextFunction, type Request, type Response } from 'express';
import { type IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { DatabaseWatch, RequestCounts, requestLog } from '#libs/operations';
import { Concurrency } from '#libs/rate-limit';
import {
  documentRoutes,
  ErrorFilter,
  type ErrorCode,
  errorExamples,
  errorSchemas,
  replaceUndecodablePath,
  RpcExpressAdapter,
} from '#libs/rpc';
import { AppModule } from './app.module.js';
import { type Config } from './config.js';
import { nameOfLogPath } from './history/index.js';
import { type Runtime } from './runtime.js';

/** The HTTP application, ready to listen. */
export async function createApplication(
  config: Config,
  runtime: Runtime,
  logger: LoggerService,
): Promise<NestExpressApplication> {
  const adapter = new RpcExpressAdapter();
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.of(runtime, config),
    adapter,
    // Operations read their bodies themselves, after the authentication and the rate limit.
    { logger, bodyParser: false, abortOnError: false },
  );
  app.set('trust proxy', config.trustProxy);
  const nameOf = (path: string) => (adapter.knows(path) ? path : nameOfLogPath(path));
  const log = requestLog(logger, runtime.store.keyring, nameOf, app.get(RequestCounts));
  app.use(
    log,
    protectPages,
    app.get(DatabaseWatch).admit,
    app.get(Concurrency).admit,
    replaceUndecodablePath,
  );
  app.useGlobalFilters(new ErrorFilter(docsUrl(config), runtime.troubles, config.isTried));
  // For the first who asks: it takes a fifth of a second, which no start has to wait for.
  let document: OpenAPIObject | undefined;
  const described = () => (document ??= describeApi(app));
  // Not by SwaggerModule, which writes the document anew for each who asks: as YAML in 20 ms, and asks for no key.
  SwaggerModule.setup('docs', app, described, { raw: false, customSiteTitle: 'Advocacy API' });
  let json: Buffer | undefined;
  adapter.get('/openapi.json', (_request: Request, response: Response) =>
    response.type('json').send((json ??= Buffer.from(JSON.stringify(described())))),
  );
  return app;
}

function describeApi(app: NestExpressApplication): OpenAPIObject {
  const description =
    'Contacts, petitions, posts, lists and tags of organizations, as an event-sourced RPC API. POST creates or updates, GET reads, ' +
    'DELETE removes; every operation is idempotent. Errors are explained at the address in `error.docs`.';
  documentRoutes(swagger);
  const document = SwaggerModule.createDocument(
    app,
    new DocumentBuilder()
      .setTitle('Advocacy API')
      .setDescription(description)
      .setVersion('v1')
      // The first that knows `type: [string, null]`.
      .setOpenAPIVersion('3.1.0')
      .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'API key', description: 'adv_…' })
      .build(),
    { autoTagControllers: false },
  );
  // Once for all operations: they say the same of most errors.
  Object.assign((document.components!.schemas ??= {}), errorSchemas);
  document.components!.examples = errorExamples;
  return document;
}

/** Swagger UI puts styles into its page, and pictures into its styles. */
const pageHeaders = {
  'Cache-Control': 'no-cache',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
};

/** Middleware: what the documentation may load, and that no other page may frame it. */
function protectPages(request: Request, response: Response, next: NextFunction): void {
  if (request.url.startsWith('/docs')) response.set(pageHeaders);
  next();
}

/** A name or address of this very machine, as a Host header says it. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/**
 * The address of a code's explanation on this server. Without PUBLIC_URL only a Host that names the client's own
 * machine is believed, for any other may be made up by somebody between; then it is the address that the
 * connection arrived at.
 */
export function docsUrl({ publicUrl, port }: Config): (code: ErrorCode, request?: IncomingMessage) => string {
  return (code, request) => `${publicUrl ?? reachedAt(port, request)}/errors/${code}`;
}

function reachedAt(port: number, request?: IncomingMessage): string {
  const { host = '' } = request?.headers ?? {};
  if (LOOPBACK.test(host)) return `${(request as Request).protocol}://${host}`;
  const { localAddress = '', localPort = port } = request?.socket ?? {};
  const address = localAddress.replace(/^::ffff:/i, '');
  // An address that holds only on one of the machine's networks (fe80::1%eth0) cannot stand in a URL.
  const isUsable = isIP(address) !== 0 && !address.includes('%');
  return `http://${isUsable ? (isIP(address) === 6 ? `[${address}]` : address) : 'localhost'}:${localPort}`;
}
