import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { type Duplex } from 'node:stream';
import { newId } from '#libs/random';
import { type ErrorCode, type ErrorReason, ERROR_STATUS, errorAnswers } from './error-codes.js';
import { type ErrorBody } from './errors.js';
import { answerHeaders, identifyRequest } from './request.js';

/** The URL of the page that explains a code. `request` is undefined if none could be parsed. */
export type DocsUrl = (code: ErrorCode, request?: IncomingMessage) => string;

/** How long a client has to read the last response before its connection is reset. */
export const LINGER_MS = 1_000;

/** Sends error envelopes without the application, and closes their connections. */
export class BareAnswers {
  constructor(
    private readonly docsUrl: DocsUrl,
    private readonly lingerMs: number,
  ) {}

  /** Responds instead of the application. */
  answer(
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
    // Sends the response immediately, but keeps the connection open until the request ends. Closing it earlier
    // would reset it.
    response.write(body);
    if (request.readableEnded) response.end();
    else request.once('end', () => response.end()).resume();
  }

  /** Responds on a connection for which Node.js created no response. */
  write(socket: Duplex, code: ErrorCode, message: string, request?: IncomingMessage): void {
    if (!socket.writable) return;
    const requestId = newId();
    const body = this.envelope(code, message, requestId, request);
    const headers = { ...headersFor(code, body), Date: new Date().toUTCString(), 'X-Request-Id': requestId };
    const head = [`HTTP/1.1 ${ERROR_STATUS[code]} ${http.STATUS_CODES[ERROR_STATUS[code]]}`];
    for (const [name, value] of Object.entries(headers)) head.push(`${name}: ${value}`);
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
    // Closing a connection with unread bytes would reset it, and the response would be lost.
    socket.resume();
    const cut = setTimeout(() => socket.destroy(), this.lingerMs);
    socket.once('close', () => clearTimeout(cut));
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
    const error = { code, message, docs, requestId };
    return JSON.stringify({
      error: reason ? { ...error, reason, docs: `${docs}#${reason}` } : error,
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

/** Describes why Node.js could not parse a request. */
export function clientFault({ code }: NodeJS.ErrnoException): string {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'The request did not arrive in time. Send it again.';
  if (code === 'HPE_HEADER_OVERFLOW') {
    return `The request line and headers are larger than ${http.maxHeaderSize} bytes. Shorten them.`;
  }
  return 'This is not a valid HTTP request.';
}
