import { type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type NestExpressApplication } from '@nestjs/platform-express';
import { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { type IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { DatabaseMonitor, RequestCounts, requestLog } from '#libs/operations';
import { Concurrency } from '#libs/rate-limit';
import { ErrorFilter, type ErrorCode, replaceUndecodablePath, RpcExpressAdapter } from '#libs/rpc';
import { AppModule } from './app.module.js';
import { type Config } from '../config/index.js';
import { nameOfClickPath } from '../broadcasts/index.js';
import { nameOfDashboardPath } from '../dashboard/index.js';
import { nameOfLogPath } from '../history/index.js';
import { nameOfImagePath } from '../images/index.js';
import { type Runtime } from './runtime.js';
import { nameOfSitePath, QuickPages } from '../site/index.js';
import { nameOfMailHook } from '../suppressions/index.js';
import { nameOfUnsubscribePath } from '../unsubscribe/index.js';

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
    // Operations read their bodies themselves, after authentication and rate limiting.
    { logger, bodyParser: false, abortOnError: false },
  );
  app.set('trust proxy', config.trustProxy);
  const nameOf = (path: string) =>
    adapter.knows(path)
      ? path
      : (nameOfLogPath(path) ??
        nameOfMailHook(path) ??
        nameOfUnsubscribePath(path) ??
        nameOfClickPath(path) ??
        nameOfImagePath(path) ??
        nameOfDashboardPath(path) ??
        nameOfSitePath(path));
  const log = requestLog(logger, runtime.store.keyring, nameOf, app.get(RequestCounts));
  app.use(log, app.get(DatabaseMonitor).admit, app.get(Concurrency).admit, replaceUndecodablePath);
  app.useGlobalFilters(new ErrorFilter(docsUrl(config), runtime.incidents, config.isTried));
  serveDocumentation(app, adapter, config.publicUrl);
  adapter.quick = app.get(QuickPages, { strict: false }).answer;
  return app;
}

/** Loads the documentation at the first request, because it takes half a second and a tenth of the memory. */
function serveDocumentation(
  app: NestExpressApplication,
  adapter: RpcExpressAdapter,
  publicUrl: string | undefined,
): void {
  let pages: Promise<RequestHandler> | undefined;
  const serve = (request: Request, response: Response, next: NextFunction) => {
    pages ??= import('./documentation.js').then(({ documentationOf }) => documentationOf(app, publicUrl));
    pages.then((answer) => answer(request, response, next)).catch(next);
  };
  const routes = adapter.getInstance<Express>();
  for (const path of DOCUMENTATION) routes.get(path, serve);
  routes.get(/^\/docs\//, serve); // pages, the script and pictures
}

/**
 * Routes for the pages exist before the pages are loaded, because other parts of the server check which paths exist.
 */
const DOCUMENTATION = ['/openapi.json', '/docs', '/docs/', '/docs/search'];

/** A loopback name or address in a Host header. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/**
 * The URL of the page that explains an error code. Without PUBLIC_URL, it uses the Host header if that is a loopback name or address.
 * Any other Host header could be forged, so it uses the address at which the connection arrived.
 */
export function docsUrl({ publicUrl, port }: Config): (code: ErrorCode, request?: IncomingMessage) => string {
  return (code, request) => `${publicUrl ?? reachedAt(port, request)}/errors/${code}`;
}

function reachedAt(port: number, request?: IncomingMessage): string {
  const { host = '' } = request?.headers ?? {};
  if (LOOPBACK.test(host)) return `${(request as Request).protocol}://${host}`;
  const { localAddress = '', localPort = port } = request?.socket ?? {};
  const address = localAddress.replace(/^::ffff:/i, '');
  // An address with a zone (fe80::1%eth0) is not valid in a URL.
  const isUsable = isIP(address) !== 0 && !address.includes('%');
  return `http://${isUsable ? (isIP(address) === 6 ? `[${address}]` : address) : 'localhost'}:${localPort}`;
}
