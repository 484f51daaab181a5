import { type IncomingMessage, type ServerResponse } from 'node:http';
import { v7 as uuidv7 } from 'uuid';
import { type Actor } from '#libs/event-store';

/** Who a request comes from, as the authentication found. */
export type Caller = { organizationId: string; actor: Actor; scopes: readonly string[] };

declare module 'node:http' {
  interface IncomingMessage {
    /** Set by the authentication when the key is good. */
    caller?: Caller;
    requestId?: string;
  }
}

/** 1–128 visible ASCII characters: what may be put into headers, logs and events as it is. */
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/** What answers hold is for their caller alone, and is what its type says. Pages say otherwise for themselves. */
export const answerHeaders = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

/** Takes the caller's `X-Request-Id` or makes one, and returns it on the response, with `answerHeaders`. */
export function identifyRequest(request: IncomingMessage, response: ServerResponse): string {
  if (request.requestId === undefined) {
    const given = request.headers['x-request-id'];
    request.requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : uuidv7();
    response.setHeader('X-Request-Id', request.requestId);
    for (const name in answerHeaders)
      response.setHeader(name, answerHeaders[name as keyof typeof answerHeaders]);
  }
  return request.requestId;
}
