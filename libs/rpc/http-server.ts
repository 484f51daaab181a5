import http, {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type Duplex } from 'node:stream';
import { type Socket } from 'node:net';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { answerHeaders, identifyRequest } from './request.js';
import { type ErrorBody, type ErrorCode, type ErrorReason, ERROR_STATUS, errorAnswers } from './errors.js';

/** Address of the page that explains a code; without a request where none could be read. */
export type DocsUrl = (code: ErrorCode, request?: IncomingMessage) => string;

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

/** After the last answer: what a client has to read it before its connection is reset. */
const LINGER_MS = 1_000;

/**
 * What streams must keep up with, and all answers: 1 KiB a second. A client may be so many seconds behind, which it
 * gets back by what it sends or reads faster; only the time counts in which it is the client's turn.
 */
const SLOWEST = 1_024;
const PATIENCE = {
  body: 30,
  /** More, because the system takes what we send in steps of up to a megabyte. */
  answer: 60,
};

/** How a client keeps up: bytes at the last look, and the seconds that it may still be behind. */
type Pace = { bytes: number; seconds: number };

/**
 * Seconds in which it is our turn and not a byte moves, after which a request is answered 503: PostgreSQL hangs, or a lock
 * does. Longer than the longest statement that is allowed to take its time (`LONGEST_MS`: a page may wait 5 s for its turn and
 * run 5 s, that of a stream three times as long), so that what works is never cut; shorter than a proxy waits.
 */
const DEADLINE = { request: 30, stream: 60 };
/** Seconds. What hangs for so long is not back in the next one. */
const RETRY_AFTER_DEADLINE = '5';

/** How long nothing has moved on a connection that waits for us. */
type Standstill = { response: ServerResponse; moved: number; seconds: number };

/**
 * Requests that one connection may send before it has their answers; more, and it is cut. Clients seldom do it at all,
 * and 64 KiB hold 1,900 requests that Node hands over in one go: one connection without a key had the processor to itself.
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

const longBodies = new WeakMap<Duplex, { request: IncomingMessage; pace: Pace }>();

/**
 * Lets the body of this request take any time, as long as it comes as fast as `SLOWEST`. For streamed imports,
 * once the caller is known: an unknown one could hold connections for ever.
 */
export function allowLongBody(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  request.isStream = true;
  longBodies.set(socket, { request, pace: { bytes: socket.bytesRead, seconds: PATIENCE.body } });
  response.once('close', () => longBodies.delete(socket));
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
  private readonly idle = new Set<Socket>();
  private readonly awaitingRefusal = new WeakSet<ServerResponse>();
  private readonly answerPaces = new WeakMap<Socket, Pace>();
  private readonly standstills = new WeakMap<Socket, Standstill>();
  private readonly mostConnections: number;
  private readonly looking: NodeJS.Timeout;
  private isLeaving = false;
  private end?: Promise<void>;

  /**
   * @param options.lookMs how often slow clients and late answers are looked for; a second, but in tests.
   * @param options.servedToTheEnd the path that the drain leaves alone: whether the process lives is asked until it does not.
   */
  constructor(
    private readonly server: Server,
    private readonly docsUrl: DocsUrl,
    options: { lookMs?: number; mostConnections?: number; servedToTheEnd?: string } = {},
  ) {
    Object.assign(server, timeouts);
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
      if (running && running.size >= MOST_WAITING_ON_CONNECTION) {
        socket.destroy();
        return;
      }
      const before = running && [...running].at(-1);
      running?.add(response);
      response.on('close', () => {
        running?.delete(response);
        if (running?.size === 0 && !socket.destroyed) this.idle.add(socket);
      });
      const isEnding = this.end !== undefined && request.url !== options.servedToTheEnd;
      if (this.isLeaving) response.setHeader('Connection', 'close');
      const answer = () => {
        if (isEnding) {
          this.refuse(
            response,
            'SERVICE_UNAVAILABLE',
            'This instance is shutting down. Send the request again.',
            { 'Retry-After': '1' },
            'SHUTTING_DOWN',
          );
        } else if (request.headers.host === undefined && request.httpVersion === '1.1') {
          this.refuse(response, 'BAD_REQUEST', 'The request has no Host header: send one.');
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
      this.refuse(response, 'BAD_REQUEST', 'This server knows no other Expect header than 100-continue.'),
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
    if (this.running.size >= this.mostConnections) {
      // Who holds a connection for nothing loses it to who may have something to ask.
      const [longestIdle] = this.silent.size > 0 ? this.silent : this.idle;
      (longestIdle ?? socket).destroy();
      if (!longestIdle) return;
      this.forget(longestIdle);
    }
    this.running.set(socket, new Set());
    this.silent.add(socket);
    socket.once('close', () => this.forget(socket));
  }

  private forget(socket: Socket): void {
    const responses = this.running.get(socket) ?? [];
    this.running.delete(socket);
    this.silent.delete(socket);
    this.idle.delete(socket);
    for (const response of responses) {
      // One that waits behind another on its connection is not told by Node that the connection is gone.
      if (response.socket === socket) continue;
      response.destroy();
      response.emit('close');
    }
  }

  /** Looks once a second: on the way of a request it would cost each one a timer. */
  private look(): void {
    for (const [socket, responses] of this.running) {
      if (responses.size === 0 || socket.writableEnded) continue;
      this.endSlowClient(socket);
      if (!socket.destroyed && !socket.writableEnded) this.endLateAnswer(socket, responses);
    }
  }

  private endSlowClient(socket: Socket): void {
    const body = longBodies.get(socket);
    if (body) {
      const { request, pace } = body;
      const isClientsTurn = isAwaitingBody(request);
      if (isTooSlow(pace, socket.bytesRead, PATIENCE.body, isClientsTurn)) {
        const wanted = `at least ${SLOWEST} bytes a second`;
        this.refuseSocket(socket, 'BAD_REQUEST', `The body did not arrive in time: send ${wanted}.`, request);
        return;
      }
    }
    const isClientsTurn = socket.writableLength > 0;
    let pace = this.answerPaces.get(socket);
    if (!pace) {
      if (!isClientsTurn) return;
      this.answerPaces.set(socket, (pace = { bytes: bytesTaken(socket), seconds: PATIENCE.answer }));
    }
    // There is nobody to tell: what cannot be sent stands before what we would say.
    if (isTooSlow(pace, bytesTaken(socket), PATIENCE.answer, isClientsTurn)) {
      this.cutOff(socket, 'the client reads too slowly');
    }
  }

  /** Of a connection's requests the first is worked on; the clock of those behind it has not begun. */
  private endLateAnswer(socket: Socket, [response]: Iterable<ServerResponse>): void {
    const { req: request } = response!;
    const moved = socket.bytesRead - request.readableLength + bytesTaken(socket);
    const before = this.standstills.get(socket);
    const isOurTurn = !isAwaitingBody(request) && socket.writableLength === 0 && !response!.writableEnded;
    if (!isOurTurn || before?.response !== response || before!.moved !== moved) {
      this.standstills.set(socket, { response: response!, moved, seconds: 0 });
      return;
    }
    // One second each look, however late it is: a process that was stopped has not let its clients wait for the database.
    before!.seconds += 1;
    if (before!.seconds < (request.isStream ? DEADLINE.stream : DEADLINE.request)) return;
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
    this.refuse(response!, 'SERVICE_UNAVAILABLE', message, headers, 'DEADLINE_EXCEEDED');
  }

  /**
   * Says with every answer that its connection is closed after it, so that clients go to other instances; everything is
   * served as ever. Connections on which nothing is asked meanwhile stay open until the drain.
   */
  takeLeave(): void {
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
    this.takeLeave();

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
    await Promise.race([closed, sleep(LINGER_MS, undefined, { ref: false })]);
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

  /** Node takes a response for done once end() was called, and would cut one that is still being sent. */
  private closeIdleConnections(): void {
    if (!this.allRunning().some((response) => response.writableEnded)) this.server.closeIdleConnections();
  }

  private allRunning(): ServerResponse[] {
    return [...this.running.values()].flatMap((responses) => [...responses]);
  }

  private handleClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    const timedOut = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    if (timedOut && longBodies.has(socket)) return;
    // Already answered; more bytes of the same bad request.
    if (socket.writableEnded) return;
    // Nothing was asked on this connection: an answer could be taken for that of the next request.
    const isSilent = timedOut && (socket as Socket).bytesRead === 0;
    if (isSilent || !socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    this.refuseSocket(socket, 'BAD_REQUEST', describe(error));
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
    if (!socket.writable) return;
    const requestId = uuidv7();
    const body = this.envelope(code, message, requestId, request);
    const headers = { ...headersFor(code, body), Date: new Date().toUTCString(), 'X-Request-Id': requestId };
    const head = [`HTTP/1.1 ${ERROR_STATUS[code]} ${http.STATUS_CODES[ERROR_STATUS[code]]}`];
    for (const [name, value] of Object.entries(headers)) head.push(`${name}: ${value}`);
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
    // A connection closed with bytes unread is reset, and the answer lost.
    socket.resume();
    const cut = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(cut));
  }

  private refuse(
    response: ServerResponse,
    code: ErrorCode,
    message: string,
    more?: http.OutgoingHttpHeaders,
    reason?: ErrorReason,
  ): void {
    const { req: request } = response;
    const body = this.envelope(code, message, identifyRequest(request, response), request, reason);
    request.errorReason = reason ?? code;
    response.writeHead(ERROR_STATUS[code], { ...headersFor(code, body), ...more });
    // The answer is out at once, the connection open until the request is: closed earlier, it is reset.
    response.write(body);
    if (request.readableEnded) response.end();
    else request.once('end', () => response.end()).resume();
  }

  private envelope(
    code: ErrorCode,
    message: string,
    requestId: string,
    request?: IncomingMessage,
    reason?: ErrorReason,
  ): string {
    errorAnswers.add(reason ?? code);
    const docs = this.docsUrl(code, request);
    return JSON.stringify({
      error: { code, ...(reason ? { reason } : {}), message, docs, requestId },
    } satisfies ErrorBody);
  }
}

const LATE = 'The answer was not ready in time, and is no longer worked on.';
const MAY_BE_DONE =
  'What was asked for may have been done or not: send the request again, with the same Idempotency-Key if it had one.';

/** Whether it is the client's turn to send; what has come and is not read yet waits for us. */
function isAwaitingBody(request: IncomingMessage): boolean {
  return request.readableLength === 0 && !request.complete;
}

function isTooSlow(pace: Pace, bytes: number, patience: number, isClientsTurn: boolean): boolean {
  const passed = (bytes - pace.bytes) / SLOWEST;
  pace.bytes = bytes;
  // One second each look, however late it is: a server that hangs must not count it against its clients.
  pace.seconds = Math.min(patience, pace.seconds + passed) - (isClientsTurn ? 1 : 0);
  return pace.seconds < 0;
}

/** The bytes of a connection that the system has taken to send, also of a write that it has not taken whole. */
function bytesTaken(socket: Socket): number {
  // Node's own timeout looks at the same field, for want of a public one.
  const { _handle } = socket as { _handle?: { bytesWritten?: number; writeQueueSize?: number } };
  return (_handle?.bytesWritten ?? 0) - (_handle?.writeQueueSize ?? 0);
}

function headersFor(code: ErrorCode, body: string): Record<string, string | number> {
  return {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    ...answerHeaders,
    ...(code === 'METHOD_NOT_ALLOWED' ? { Allow: 'GET, POST, DELETE' } : {}),
  };
}

function describe({ code }: NodeJS.ErrnoException): string {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'The request did not arrive in time: send it again.';
  if (code === 'HPE_HEADER_OVERFLOW') {
    return `The request line and headers are larger than ${http.maxHeaderSize} bytes: send less in them.`;
  }
  return 'This is not a valid HTTP request.';
}
