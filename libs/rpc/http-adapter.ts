import { type NestApplicationOptions } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express } from 'express';
import http from 'node:http';
import { followFormerName } from './former-names.js';

/** An `app.get(…)`, `app.post(…)` … as Express keeps it. */
type Route = { stack: { method?: string }[] };
type Layer = { match(path: string): unknown };

/**
 * Nest's Express adapter without the two things that cost Express most of its time. Everything else is
 * Express as ever: the order of middleware, HEAD and OPTIONS, next(), error handling.
 *
 * 1. Requests and responses are born with Express's prototypes. Express changes the prototype of each one
 *    it serves, after which V8 forgets all it learned of node:http. Here Node makes them of classes that
 *    already have what Express would set, so its Object.setPrototypeOf changes nothing.
 * 2. A route that is an exact string is compared as a string. Express asks one regular expression per route
 *    until one matches; with 60 routes the last one pays for all. A comparison costs nothing beside that.
 *
 * Measured with 60 routes, the last of them asked, 64 connections, CPU time of the server for one request and requests a second:
 *
 *                         GET that does nothing                      validated POST
 *            stock                this adapter        stock                this adapter
 *   Node 20  202 µs    5,400/s    35 µs   28,500/s    316 µs    3,300/s    118 µs    8,600/s
 *   Node 24   70 µs   14,500/s    24 µs   41,300/s    144 µs    7,200/s     89 µs   11,300/s
 *   Node 26   82 µs   12,400/s    26 µs   37,800/s    157 µs    6,600/s     80 µs   12,800/s
 *
 * The prototypes are most of it: with them alone 36 of 115 µs were left, where the adapter left 29 (Node 20, a quieter machine).
 *
 * Rejected: a Map of the paths, asked before Express. It saves 4 µs more, but leaves out middleware and has
 * to repeat what Express does for HEAD, OPTIONS, next() and errors.
 *
 * Paths are strict: other case or a trailing slash is another path. TLS, return503OnClosing and
 * forceCloseConnections are refused: a load balancer does the one, ServerLife the others.
 */
export class RpcExpressAdapter extends ExpressAdapter {
  /** Asked before everything else; answers whether it has answered. For what is the same for everybody. */
  quick: ((request: http.IncomingMessage, response: http.ServerResponse) => boolean) | undefined;
  private readonly exactRoutes = new Map<string, Route[]>();

  constructor() {
    const app = express();
    app.disable('x-powered-by').disable('etag');
    // Express makes its router at the first use of it, which is in Nest's constructor: too late after super().
    app.enable('case sensitive routing').enable('strict routing');
    super(app);

    const addRoute = app.route.bind(app) as (path: unknown) => Route;
    const { stack } = app.router as unknown as { stack: Layer[] };
    // Every registration of a route ends here, whichever the method.
    app.route = ((path: unknown) => {
      const route = addRoute(path);
      if (typeof path === 'string' && isExact(path)) {
        compareFirst(stack.at(-1)!, path);
        this.exactRoutes.set(path, [...(this.exactRoutes.get(path) ?? []), route]);
      }
      return route;
    }) as typeof app.route;
  }

  /** The methods of an exact path, as an `Allow` header lists them; empty when no route has this path. */
  allowedMethods(path: string): string[] {
    const layers = this.exactRoutes.get(path)?.flatMap((route) => route.stack) ?? [];
    const methods = layers.flatMap(({ method }) => method?.toUpperCase() ?? []);
    // Express answers HEAD by the route for GET.
    return [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method)))];
  }

  /** Whether an exact path is one of ours, whatever the method. */
  knows(path: string): boolean {
    return this.exactRoutes.has(path);
  }

  /**
   * Sends what a handler answered. Express would look up settings for each answer (escaping, spaces, ETags), compare it
   * with what the client has, and send head and body apart: 12 µs more, Node 20.
   */
  override reply(response: http.ServerResponse, body: unknown, statusCode?: number): unknown {
    if (!isPlain(body) || response.headersSent) return super.reply(response, body, statusCode) as unknown;
    const text = JSON.stringify(body);
    if (statusCode !== undefined) response.statusCode = statusCode;
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.setHeader('Content-Length', Buffer.byteLength(text));
    // As a text, not bytes: head and body are one write then.
    return response.end(text);
  }

  override initHttpServer(options: NestApplicationOptions = {}): void {
    const { httpsOptions, return503OnClosing, forceCloseConnections } = options;
    if ([httpsOptions, return503OnClosing, forceCloseConnections].some(Boolean)) {
      throw new Error('RpcExpressAdapter takes no httpsOptions, return503OnClosing, forceCloseConnections.');
    }
    const app = this.getInstance<Express>();
    // Node answers a missing Host with a bare 400; ServerLife does it in the envelope.
    const isKnown = (path: string) => this.knows(path);
    const serve: http.RequestListener = (request, response) => {
      followFormerName(request, response, isKnown);
      if (!this.quick?.(request, response)) (app as unknown as http.RequestListener)(request, response);
    };
    this.httpServer = http.createServer({ ...classesFor(app), requireHostHeader: false }, serve);
  }
}

/** Classes whose instances need no other prototype to be this app's requests and responses. */
function classesFor(app: Express) {
  class IncomingMessage extends http.IncomingMessage {}
  class ServerResponse<T extends http.IncomingMessage> extends http.ServerResponse<T> {}
  Object.setPrototypeOf(IncomingMessage.prototype, app.request);
  Object.setPrototypeOf(ServerResponse.prototype, app.response);
  app.request = IncomingMessage.prototype as typeof app.request;
  app.response = ServerResponse.prototype as unknown as typeof app.response;
  return { IncomingMessage, ServerResponse };
}

function isPlain(body: unknown): body is object {
  return typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype;
}

/** Whether a path has none of the characters that path-to-regexp gives a meaning. */
function isExact(path: string): boolean {
  return !/[:*?+!(){}[\]\\]/.test(path);
}

function compareFirst(layer: Layer, exactPath: string): void {
  const match = layer.match.bind(layer);
  layer.match = (path) => path === exactPath && match(path);
}
