import { type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { type Duplex } from 'node:stream';
import { type Socket } from 'node:net';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BareAnswers, clientFault, type DocsUrl, LINGER_MS } from './bare-answers.js';
import { type ErrorCode } from './errors.js';
import { DEADLINE, hasLongBody, Pacing, SLOWEST } from './pacing.js';
import { UnreadBodies } from './unread-bodies.js';

/** Milliseconds. Node looks for requests beyond their time every 30 s: they end up to that much later. */
export const timeouts = {
  /**
   * Load balancers keep idle connections for 60 s and take them again without asking. Ours stay longer, so
   * that a request never meets a connection that was closed at this very moment, which they answer with 502.
   */
  keepAliveTimeout: 65_000,
  /** For request line and headers, from their first byte. */
  headersTimeout: 30_000,
  /** For a whole request with its body, 1 MiB at most; a streamed body is exempted by `allowLongBody`. */
  requestTimeout: 60_000,
  /** Without a byte in either direction. */
  timeout: 120_000,
};

/** Seconds. What hangs for so long is not back in the next one. */
const RETRY_AFTER_DEADLINE = '5';

/**
 * Requests that one connection may send before it has their answers. Those are answered, then it is closed. Clients seldom do it at all,
 * and Node hands over 1,900 requests of 64 KiB in one go: one connection without a key had the processor to itself.
 */
const MOST_WAITING_ON_CONNECTION = 64;

declare module 'node:http' {
  interface IncomingMessage {
    /** Its deadline has passed, and its client was told so: nothing more may be done for it. */
    isGivenUp?: boolean;
    /** Its answer, or its body, is streamed: `DEADLINE.stream`. */
    isStream?: boolean;
    /** Of an answer that is an error: `error.reason`, or `error.code` where it has none. */
    errorReason?: string;
    /** Why we have ended its connection before its answer was out. */
    cutOff?: string;
  }
}

/**
 * Makes the last request the last of its connection, whatever else was read or is still to come. 2 is how Node's parser is told that
 * what follows the headers is no HTTP, which ends its work on what was read. Destroying the connection does not: 1,500 requests more,
 * each with an error and its stack, took 70 ms.
 */
function takeNoMore(socket: Socket): void {
  const { parser } = socket as { parser?: { onIncoming: () => number } | null };
  if (parser) parser.onIncoming = () => 2;
}

function ignore(): void {
  // What became of the connection is told by its "close".
}

/** Connections of one instance: 10,000, or what the system gives beside 200 files of our own. */
function mostConnections(): number {
  try {
    const [, files] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return Math.min(10_000, Math.max(100, Number(files ?? Infinity) - 200));
  } catch {
    return 10_000;
  }
}

/**
 * A server's life around its application: timeouts, the answers that Node gives without asking the
 * application (as error envelopes), and an end that loses no request. Made before the server listens.
 */
export class ServerLife {
  /** The responses not yet sent in full, by connection. Keeping them costs 2 µs a request (once() instead of on(): 4). */
  private readonly running = new Map<Socket, Set<ServerResponse>>();
  /** Connections on which nothing was asked yet, and those on which nothing runs; the oldest first. */
  private readonly silent = new Set<Socket>();
  private readonly idle = new Map<Socket, number>();
  private readonly awaitingRefusal = new WeakSet<ServerResponse>();
  /** Connections that have sent all that they may before they have the answers. */
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
   * @param options.lookMs how often slow clients and late answers are looked for; a second, but in tests.
   * @param options.lingerMs how long a client has to read its last answer; a second, but in tests.
   * @param options.servedToTheEnd the path that the drain leaves alone: whether the process lives is asked until it does not.
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
      // A dozen places wait for its end. It lives for one request: nothing gathers.
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
          this.bare.answer(response, 'BAD_REQUEST', 'The request has no Host header: send one.');
        } else {
          for (const listener of serve) listener(request, response);
        }
      };
      if (!before) answer();
      // One connection works on one request at a time, and others have their turns in between.
      else before.once('close', () => setImmediate(() => !response.destroyed && answer()));
    });
    // That a connection cannot be accepted, for want of file descriptors say, is no reason to end the others.
    server.once('listening', () => server.on('error', ignore));
    server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) =>
      this.bare.answer(
        response,
        'BAD_REQUEST',
        'This server knows no other Expect header than 100-continue.',
      ),
    );
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.handleClientError(error, socket));
    // An Upgrade header needs no listener: without one, Node serves the request as if it had none.
    server.on('connect', (request, socket) => {
      // Node has let go of this connection: nobody would hear of its end while an earlier request is answered.
      if (this.running.get(socket as Socket)?.size) socket.destroy();
      else {
        const message = 'This server is no proxy: it does not take CONNECT.';
        this.refuseSocket(socket, 'METHOD_NOT_ALLOWED', message, request);
      }
    });
  }

  private welcome(socket: Socket): void {
    // Node listens itself, but no longer once it has handed a connection over (CONNECT): a reset that nobody
    // listens for ends the process.
    socket.on('error', ignore);
    this.unread.guard(socket);
    if (this.running.size >= this.mostConnections) {
      // Who holds a connection for nothing loses it to who may have something to ask.
      const [longestIdle] = this.silent.size > 0 ? this.silent : this.idle.keys();
      (longestIdle ?? socket).destroy();
      if (!longestIdle) return;
      this.forget(longestIdle);
    }
    this.running.set(socket, new Set());
    this.silent.add(socket);
    // Before Node's own, which makes an error with a stack for each request that is not destroyed yet.
    socket.prependOnceListener('close', () => this.forget(socket));
  }

  private forget(socket: Socket): void {
    const responses = this.running.get(socket) ?? [];
    this.running.delete(socket);
    this.silent.delete(socket);
    this.idle.delete(socket);
    for (const response of responses) {
      // One that waits behind another on its connection is not told by Node that the connection is gone.
      if (response.socket === socket) continue;
      response.req.destroy();
      response.destroy();
      response.emit('close');
    }
  }

  /**
   * Looks for slow clients and late answers. It does so by itself, once a second: on the way of a request it would cost each one a
   * timer. Tests look by hand, because each look counts as a second.
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
      this.refuseSocket(socket, 'BAD_REQUEST', `The body did not arrive in time: send ${wanted}.`, request);
      return;
    }
    // There is nobody to tell: what cannot be sent stands before what we would say.
    if (this.pacing.isReadTooSlowly(socket)) this.cutOff(socket, 'the client reads too slowly');
  }

  /** Of a connection's requests the first is worked on; the clock of those behind it has not begun. */
  private endLateAnswer(socket: Socket, [response]: Iterable<ServerResponse>): void {
    const { req: request } = response!;
    if (!this.pacing.isLate(socket, response!)) return;
    if (response!.headersSent) {
      // Only a cut connection tells the client that what it has is not the whole answer.
      this.cutOff(
        socket,
        `nothing moved for ${DEADLINE.stream} s: the database hangs, or something in it is held`,
      );
      return;
    }
    request.isGivenUp = true;
    const message = request.method === 'GET' || request.method === 'HEAD' ? LATE : `${LATE} ${MAY_BE_DONE}`;
    const headers = { 'Retry-After': RETRY_AFTER_DEADLINE };
    this.bare.answer(response!, 'SERVICE_UNAVAILABLE', message, headers, 'DEADLINE_EXCEEDED');
  }

  /**
   * Says with every answer that its connection is closed after it, so that clients go to other instances; everything is
   * served as ever. Connections on which nothing is asked meanwhile stay open until the drain.
   */
  startDraining(): void {
    this.isLeaving = true;
    for (const response of this.allRunning()) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
    }
  }

  /**
   * Ends the server: from now on every new request gets a 503; what runs may finish within `graceMs`, then
   * its connections are cut; idle connections are closed at once. Takes two seconds more than `graceMs` at
   * most, whatever clients do. Never rejects; a second call awaits the first one's end.
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
        this.cutOff(response.req.socket, 'this instance stops, and it was not done in time');
    }

    // Only now: until here a load balancer that does not know yet gets a 503 instead of a refused connection.
    const closed = new Promise((resolve) => this.server.close(resolve));
    await Promise.race([closed, sleep(this.lingerMs, undefined, { ref: false })]);
    this.server.closeAllConnections();
    clearInterval(this.looking);
  }

  /** What still comes of the work, nobody waits for. */
  private cutOff(socket: Socket, reason: string): void {
    for (const { req: request } of this.running.get(socket) ?? []) {
      request.isGivenUp = true;
      request.cutOff = reason;
    }
    socket.destroy();
  }

  /**
   * Those on which something was answered and nothing has come since. Not by Node's own method: it cuts an answer that is still
   * being sent, and from 26 on connections that have not asked anything yet, whose request may be on its way.
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
    // Already answered; more bytes of the same bad request.
    if (socket.writableEnded) return;
    // Where the parser ended is no end of a request.
    if (this.full.has(socket) && !timedOut) return;
    // Nothing was asked on this connection: an answer could be taken for that of the next request.
    const isSilent = timedOut && (socket as Socket).bytesRead === 0;
    if (isSilent || !socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    this.refuseSocket(socket, 'BAD_REQUEST', clientFault(error));
  }

  /** Answers on a connection that Node has made no response for, or whose request turned out to be broken. */
  private refuseSocket(socket: Duplex, code: ErrorCode, message: string, request?: IncomingMessage): void {
    const last = [...(this.running.get(socket as Socket) ?? [])].at(-1);
    if (last?.req.complete) {
      // The requests before this one are answered first. Only once: each byte that follows is another error.
      if (this.awaitingRefusal.has(last)) return;
      this.awaitingRefusal.add(last);
      last.once('close', () => this.refuseSocket(socket, code, message, request));
      return;
    }
    if (last && (last.headersSent || this.running.get(socket as Socket)!.size > 1)) {
      // A second answer would be taken for a part of the first.
      socket.destroy();
      return;
    }
    this.bare.write(socket, code, message, request);
  }
}

const LATE = 'The answer was not ready in time, and is no longer worked on.';
const MAY_BE_DONE =
  'What was asked for may have been done or not: send the request again, with the same Idempotency-Key if it had one.';
