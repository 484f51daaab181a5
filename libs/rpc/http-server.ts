import { type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { type Duplex } from 'node:stream';
import { type Socket } from 'node:net';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BareAnswers, clientFault, type DocsUrl, LINGER_MS } from './bare-answers.js';
import { type ErrorCode } from './error-codes.js';
import { DEADLINE, hasLongBody, Pacing, SLOWEST } from './pacing.js';
import { UnreadBodies } from './unread-bodies.js';

/** In milliseconds. Node.js checks every 30 s for requests that are too slow, so they end up to that much later. */
export const timeouts = {
  /**
   * Load balancers keep idle connections for 60 s and reuse them without checking. Ours stay open longer, so that no
   * request meets a connection that is just closing, for which load balancers return 502.
   */
  keepAliveTimeout: 65_000,
  /** For request line and headers, from their first byte. */
  headersTimeout: 30_000,
  /** For a whole request with its body, at most 1 MiB. `allowLongBody` exempts streamed bodies. */
  requestTimeout: 60_000,
  /** Without a byte in either direction. */
  timeout: 120_000,
};

/** Seconds. Something that has hung for this long will not recover within the next second. */
const RETRY_AFTER_DEADLINE = '5';

/**
 * Requests that a connection may send before it has their responses. After these, it is closed. Clients rarely
 * send more. Without a limit, a connection without a key could monopolize the CPU: Node.js passes on 1,900
 * requests from 64 KiB of input in one turn.
 */
const MOST_WAITING_ON_CONNECTION = 64;

declare module 'node:http' {
  interface IncomingMessage {
    /** Its deadline has passed and its client was informed. No more work may be done for it. */
    isGivenUp?: boolean;
    /** Its response or its body is streamed: `DEADLINE.stream`. */
    isStream?: boolean;
    /** For an error response: `error.reason`, or `error.code` if there is no reason. */
    errorReason?: string;
    /** Why we closed its connection before its response was complete. */
    cutOff?: string;
  }
}

/**
 * Makes the last request the last of its connection, whatever has been or will be received. Returning 2 tells Node's
 * parser that what follows the headers is not HTTP, which ends its work on received data. Destroying the connection
 * does not: 1,500 more requests, each with an error and its stack, took 70 ms.
 */
function takeNoMore(socket: Socket): void {
  const { parser } = socket as { parser?: { onIncoming: () => number } | null };
  if (parser) parser.onIncoming = () => 2;
}

function ignore(): void {
  // The "close" event reports the end of the connection.
}

/** Connections of an instance: 10,000, or what the system allows in addition to 200 files of our own. */
function mostConnections(): number {
  try {
    const [, files] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return Math.min(10_000, Math.max(100, Number(files ?? Infinity) - 200));
  } catch {
    return 10_000;
  }
}

/**
 * The server's life around its application: timeouts, the responses that Node.js would send without the application
 * (as error envelopes), and a shutdown that loses no request. Create it before the server listens.
 */
export class ServerLife {
  /** Responses not yet sent in full, by connection. Costs 2 µs per request (with once() instead of on(): 4). */
  private readonly running = new Map<Socket, Set<ServerResponse>>();
  /** Connections without any request so far, and those without a running request. The oldest come first. */
  private readonly silent = new Set<Socket>();
  private readonly idle = new Map<Socket, number>();
  private readonly awaitingRefusal = new WeakSet<ServerResponse>();
  /** Connections that have sent as many requests as they may before the responses. */
  private readonly full = new WeakSet<Duplex>();
  private readonly pacing = new Pacing();
  private readonly bare: BareAnswers;
  private readonly unread: UnreadBodies;
  private readonly mostConnections: number;
  private readonly lingerMs: number;
  private readonly looking: NodeJS.Timeout;
  private isLeaving = false;
  private end?: Promise<void>;

  /**
   * @param options.lookMs how often to check for slow clients and late responses. A second, except in tests.
   * @param options.lingerMs how long a client has to read its last response. A second, except in tests.
   * @param options.servedToTheEnd a path served even while draining, because liveness is checked until the process
   *   ends.
   */
  constructor(
    private readonly server: Server,
    docsUrl: DocsUrl,
    options: {
      lookMs?: number;
      lingerMs?: number;
      mostConnections?: number;
      unreadLimits?: { bytes: number; seconds: number };
      servedToTheEnd?: string;
    } = {},
  ) {
    Object.assign(server, timeouts);
    this.lingerMs = options.lingerMs ?? LINGER_MS;
    this.bare = new BareAnswers(docsUrl, this.lingerMs);
    this.unread = new UnreadBodies(this.lingerMs, options.unreadLimits);
    this.mostConnections = options.mostConnections ?? mostConnections();
    this.looking = setInterval(() => this.look(), options.lookMs ?? 1_000).unref();
    const serve = server.listeners('request') as RequestListener[];
    server.removeAllListeners('request');
    server.on('connection', (socket) => this.welcome(socket));
    server.on('request', (request, response) => {
      const { socket } = request;
      this.silent.delete(socket);
      this.idle.delete(socket);
      const running = this.running.get(socket);
      const before = running && [...running].at(-1);
      running?.add(response);
      if (running && running.size >= MOST_WAITING_ON_CONNECTION) {
        takeNoMore(socket);
        this.full.add(socket);
        response.setHeader('Connection', 'close');
      }
      this.unread.expect(request);
      // About a dozen listeners wait for its end. It exists for one request, so none accumulate.
      response.setMaxListeners(0);
      response.on('close', () => {
        running?.delete(response);
        this.unread.drain(request);
        if (running?.size === 0 && !socket.destroyed) this.idle.set(socket, socket.bytesRead);
      });
      const isEnding = this.end !== undefined && request.url !== options.servedToTheEnd;
      if (this.isLeaving) response.setHeader('Connection', 'close');
      const answer = () => {
        if (isEnding) {
          this.bare.answer(
            response,
            'SERVICE_UNAVAILABLE',
            'This instance is shutting down. Send the request again.',
            { 'Retry-After': '1' },
            'SHUTTING_DOWN',
          );
        } else if (request.headers.host === undefined && request.httpVersion === '1.1') {
          this.bare.answer(response, 'BAD_REQUEST', 'The request has no Host header.');
        } else {
          for (const listener of serve) listener(request, response);
        }
      };
      if (!before) answer();
      // A connection runs one request at a time, and others have their turns in between.
      else before.once('close', () => setImmediate(() => !response.destroyed && answer()));
    });
    // A connection that cannot be accepted, such as for lack of file descriptors, must not end the others.
    server.once('listening', () => server.on('error', ignore));
    server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) =>
      this.bare.answer(response, 'BAD_REQUEST', 'The only supported Expect header is 100-continue.'),
    );
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.handleClientError(error, socket));
    // An Upgrade header needs no listener: without one, Node.js ignores the header.
    server.on('connect', (request, socket) => {
      // Node.js no longer watches this connection, so its end would go unnoticed while an earlier request runs.
      if (this.running.get(socket as Socket)?.size) socket.destroy();
      else {
        const message = 'This server is not a proxy and does not accept CONNECT.';
        this.refuseSocket(socket, 'METHOD_NOT_ALLOWED', message, request);
      }
    });
  }

  private welcome(socket: Socket): void {
    // Node.js stops listening for errors after it hands over a connection (CONNECT), and an unhandled reset would end
    // the process.
    socket.on('error', ignore);
    this.unread.guard(socket);
    if (this.running.size >= this.mostConnections) {
      // A connection without requests makes way for one that may send some.
      const [longestIdle] = this.silent.size > 0 ? this.silent : this.idle.keys();
      (longestIdle ?? socket).destroy();
      if (!longestIdle) return;
      this.forget(longestIdle);
    }
    this.running.set(socket, new Set());
    this.silent.add(socket);
    // Before Node's listener, which creates an error with a stack for each request that is not destroyed yet.
    socket.prependOnceListener('close', () => this.forget(socket));
  }

  private forget(socket: Socket): void {
    const responses = this.running.get(socket) ?? [];
    this.running.delete(socket);
    this.silent.delete(socket);
    this.idle.delete(socket);
    for (const response of responses) {
      // Node.js does not notify requests that wait behind another one when their connection ends.
      if (response.socket === socket) continue;
      response.req.destroy();
      response.destroy();
      response.emit('close');
    }
  }

  /**
   * Checks for slow clients and late responses, once a second for all: a timer per request would cost more. Tests call
   * it themselves, because each check counts as a second.
   */
  look(): void {
    for (const [socket, responses] of this.running) {
      if (responses.size === 0 || socket.writableEnded) continue;
      this.endSlowClient(socket);
      if (!socket.destroyed && !socket.writableEnded) this.endLateAnswer(socket, responses);
    }
  }

  private endSlowClient(socket: Socket): void {
    const request = this.pacing.lateBody(socket);
    if (request) {
      const wanted = `at least ${SLOWEST} bytes a second`;
      this.refuseSocket(socket, 'BAD_REQUEST', `The body did not arrive in time. Send ${wanted}.`, request);
      return;
    }
    // An error would never arrive: it would queue behind what the client does not read.
    if (this.pacing.isReadTooSlowly(socket)) this.cutOff(socket, 'the client reads too slowly');
  }

  /** Only the first request of a connection runs. The time of those behind it has not started. */
  private endLateAnswer(socket: Socket, [response]: Iterable<ServerResponse>): void {
    const { req: request } = response!;
    if (!this.pacing.isLate(socket, response!)) return;
    if (response!.headersSent) {
      // Only closing the connection tells the client that the response is incomplete.
      this.cutOff(socket, `no data moved for ${DEADLINE.stream} s: the database hangs, or a lock blocks it`);
      return;
    }
    request.isGivenUp = true;
    const message = request.method === 'GET' || request.method === 'HEAD' ? LATE : `${LATE} ${MAY_BE_DONE}`;
    const headers = { 'Retry-After': RETRY_AFTER_DEADLINE };
    this.bare.answer(response!, 'SERVICE_UNAVAILABLE', message, headers, 'DEADLINE_EXCEEDED');
  }

  /**
   * Announces with every response that its connection will close, so that clients switch to other instances. Requests
   * are still served. Connections without requests stay open until the drain.
   */
  startDraining(): void {
    this.isLeaving = true;
    for (const response of this.allRunning()) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
    }
  }

  /**
   * Shuts the server down. From now on, new requests get 503. Running requests may finish within `graceMs`, then their
   * connections are closed. Idle connections are closed immediately. Takes at most two seconds more than `graceMs`,
   * whatever clients do. Never rejects. A second call waits for the first.
   */
  drain(graceMs = 8_000): Promise<void> {
    return (this.end ??= this.finish(graceMs));
  }

  private async finish(graceMs: number): Promise<void> {
    const deadline = Date.now() + graceMs;
    const awaited = this.allRunning();
    this.startDraining();

    const isRunning = (response: ServerResponse) => this.running.get(response.req.socket)?.has(response);
    this.closeIdleConnections();
    while (awaited.some(isRunning) && Date.now() < deadline) {
      await sleep(20);
      this.closeIdleConnections();
    }
    for (const response of awaited) {
      if (isRunning(response))
        this.cutOff(
          response.req.socket,
          'the instance is shutting down, and the request did not finish in time',
        );
    }

    // Not earlier: until now, a load balancer that has not noticed gets a 503 instead of a refused connection.
    const closed = new Promise((resolve) => this.server.close(resolve));
    await Promise.race([closed, sleep(this.lingerMs, undefined, { ref: false })]);
    this.server.closeAllConnections();
    clearInterval(this.looking);
  }

  /** No one waits for the remaining results of this work. */
  private cutOff(socket: Socket, reason: string): void {
    for (const { req: request } of this.running.get(socket) ?? []) {
      request.isGivenUp = true;
      request.cutOff = reason;
    }
    socket.destroy();
  }

  /**
   * Closes connections that had a response and received nothing since. Node's own method is unsuitable: it cuts
   * responses that are still being sent. From version 26, it also cuts connections whose first request may be on its
   * way.
   */
  private closeIdleConnections(): void {
    for (const [socket, heard] of this.idle) {
      if (socket.bytesRead === heard && !this.unread.isDraining(socket)) socket.destroy();
    }
  }

  private allRunning(): ServerResponse[] {
    return [...this.running.values()].flatMap((responses) => [...responses]);
  }

  private handleClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    const timedOut = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    if (timedOut && (hasLongBody(socket) || this.unread.isDraining(socket as Socket))) return;
    // Already answered: these are more bytes of the same bad request.
    if (socket.writableEnded) return;
    // The parser did not stop at the end of a request.
    if (this.full.has(socket) && !timedOut) return;
    // Without a request on this connection, a response could be mistaken for that of the next request.
    const isSilent = timedOut && (socket as Socket).bytesRead === 0;
    if (isSilent || !socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    this.refuseSocket(socket, 'BAD_REQUEST', clientFault(error));
  }

  /** Responds on a connection for which Node.js created no response, or whose request is broken. */
  private refuseSocket(socket: Duplex, code: ErrorCode, message: string, request?: IncomingMessage): void {
    const last = [...(this.running.get(socket as Socket) ?? [])].at(-1);
    if (last?.req.complete) {
      // The requests before this one are answered first. Only once, because each further byte is another error.
      if (this.awaitingRefusal.has(last)) return;
      this.awaitingRefusal.add(last);
      last.once('close', () => this.refuseSocket(socket, code, message, request));
      return;
    }
    if (last && (last.headersSent || this.running.get(socket as Socket)!.size > 1)) {
      // A second response would be mistaken for part of the first.
      socket.destroy();
      return;
    }
    this.bare.write(socket, code, message, request);
  }
}

const LATE = 'The response was not ready in time, so processing stopped.';
const MAY_BE_DONE =
  'The change may or may not have been applied. Retry, with the same Idempotency-Key if the request had one.';
