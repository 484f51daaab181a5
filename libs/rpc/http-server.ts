import http, {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type Duplex } from 'node:stream';
import { type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { answerHeaders, identifyRequest } from './request.js';
import { type ErrorBody, type ErrorCode, type ErrorReason, ERROR_STATUS } from './errors.js';

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
  /** Without a byte in either direction: a stream that nobody sends or reads, however long it may be, ends. */
  timeout: 120_000,
};

/** After the last answer: what a client has to read it before its connection is reset. */
const LINGER_MS = 1_000;

const longBodies = new WeakSet<Duplex>();

/**
 * Lets the body of this request take any time, as long as bytes keep coming (`timeouts.timeout`). For
 * streamed imports, once the caller is known: an unknown one could hold connections for ever.
 */
export function allowLongBody({ socket }: IncomingMessage, response: ServerResponse): void {
  longBodies.add(socket);
  response.once('close', () => longBodies.delete(socket));
}

function ignore(): void {
  // What became of the connection is told by its "close".
}

/**
 * A server's life around its application: timeouts, the answers that Node gives without asking the
 * application (as error envelopes), and an end that loses no request. Made before the server listens.
 */
export class ServerLife {
  /** The responses not yet sent in full, by connection. Keeping them costs 2 µs a request (once() instead of on(): 4). */
  private readonly running = new Map<Duplex, Set<ServerResponse>>();
  private end?: Promise<void>;

  constructor(
    private readonly server: Server,
    private readonly docsUrl: DocsUrl,
  ) {
    Object.assign(server, timeouts);
    const serve = server.listeners('request') as RequestListener[];
    server.removeAllListeners('request');
    server.on('connection', (socket) => {
      // Node listens itself, but no longer once it has handed a connection over (CONNECT): a reset that nobody
      // listens for ends the process.
      socket.on('error', ignore);
      this.running.set(socket, new Set());
      // A response that waits behind another on its connection gets no "close" when the connection goes.
      socket.once('close', () => this.running.delete(socket));
    });
    server.on('request', (request, response) => {
      const running = this.running.get(request.socket);
      running?.add(response);
      response.on('close', () => running?.delete(response));
      if (this.end) {
        this.refuse(
          response,
          'SERVICE_UNAVAILABLE',
          'This instance is shutting down. Send the request again.',
          { 'Retry-After': '1' },
          'SHUTTING_DOWN',
        );
      } else if (request.headers.host === undefined && request.httpVersion === '1.1') {
        this.refuse(response, 'BAD_REQUEST', 'The request has no Host header.');
      } else {
        for (const listener of serve) listener(request, response);
      }
    });
    // That a connection cannot be accepted, for want of file descriptors say, is no reason to end the others.
    server.once('listening', () => server.on('error', ignore));
    server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) =>
      this.refuse(response, 'BAD_REQUEST', 'This server knows no other Expect header than 100-continue.'),
    );
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.handleClientError(error, socket));
    // An Upgrade header needs no listener: without one, Node serves the request as if it had none.
    server.on('connect', (request, socket) =>
      this.refuseSocket(
        socket,
        'METHOD_NOT_ALLOWED',
        'This server is no proxy: it does not take CONNECT.',
        request,
      ),
    );
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
    for (const response of awaited) if (!response.headersSent) response.setHeader('Connection', 'close');

    const isRunning = (response: ServerResponse) => this.running.get(response.req.socket)?.has(response);
    this.closeIdleConnections();
    while (awaited.some(isRunning) && Date.now() < deadline) {
      await sleep(20);
      this.closeIdleConnections();
    }
    for (const response of awaited) if (isRunning(response)) response.req.socket.destroy();

    // Only now: until here a load balancer that does not know yet gets a 503 instead of a refused connection.
    const closed = new Promise((resolve) => this.server.close(resolve));
    await Promise.race([closed, sleep(LINGER_MS, undefined, { ref: false })]);
    this.server.closeAllConnections();
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
    const last = [...(this.running.get(socket) ?? [])].at(-1);
    if (last?.req.complete) {
      // The requests before this one are answered first.
      last.once('close', () => this.refuseSocket(socket, code, message, request));
      return;
    }
    if (last && (last.headersSent || this.running.get(socket)!.size > 1)) {
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
    response.writeHead(ERROR_STATUS[code], { ...headersFor(code, body), ...more });
    // The answer is out at once, the connection open until the request is: closed earlier, it is reset.
    response.write(body);
    request.once('end', () => response.end()).resume();
  }

  private envelope(
    code: ErrorCode,
    message: string,
    requestId: string,
    request?: IncomingMessage,
    reason?: ErrorReason,
  ): string {
    const docs = this.docsUrl(code, request);
    return JSON.stringify({
      error: { code, ...(reason ? { reason } : {}), message, docs, requestId },
    } satisfies ErrorBody);
  }
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
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'The request did not arrive in time.';
  if (code === 'HPE_HEADER_OVERFLOW') {
    return `The request line and headers are larger than ${http.maxHeaderSize} bytes.`;
  }
  return 'This is not a valid HTTP request.';
}
