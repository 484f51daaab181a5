import { type IncomingMessage, type ServerResponse } from 'node:http';
import { newId } from '#libs/random';
import { type Actor, type Keyring } from '#libs/event-store';

/** Who a request comes from, as the authentication found. */
export type Caller = { organizationId: string; actor: Actor; scopes: readonly string[] };

declare module 'node:http' {
  interface IncomingMessage {
    /** Set by the authentication when the key is good. */
    caller?: Caller;
    /** Throws once the caller may not ask any more: their key was revoked or has expired. Set with `caller`. */
    requireCaller?: () => Promise<void>;
    /** As the client knows it: for its own answer alone. */
    requestId?: string;
    /** Set while an operation works on it, also when its client has gone away meanwhile. */
    isWorkedOn?: boolean;
    /** What is answered in the place of an error's JSON, for who reads pages. */
    errorPage?: (status: number) => { headers: Readonly<Record<string, string>>; body: Buffer };
    /** Called when no operation works on it any more, by the operation. */
    onWorked?: () => void;
    /** What is logged and stored: `storedRequestId`. Set by the request log, which every request passes. */
    storedRequestId?: string;
  }
}

/** Whether an address is one of the API, in place of health and documentation. */
export function isOfApi(url: string): boolean {
  return url.startsWith('/v1/') || url.startsWith('/log/');
}

/** 1–128 visible ASCII characters: what may be put into headers, logs and events as it is. */
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/** UUID, ULID, trace id, or stored before: nobody's name or address has such a form. */
const HARMLESS = new RegExp(
  '^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-7][0-9a-hjkmnp-tv-z]{25}|(?:h_)?[0-9a-f]{32})$',
  'i',
);

/**
 * What of a request id is logged and stored with events, where no erasure reaches: the id itself where its form
 * cannot hold personal data, else `h_` and 128 bits of its keyed hash, which nobody without the key can find by trial.
 */
export function storedRequestId(requestId: string, keyring: Pick<Keyring, 'hash'>): string {
  return HARMLESS.test(requestId) ? requestId : hidden(keyring.hash('request id', requestId));
}

/** A keyed hash in the form in which it stands in place of a text. */
export function hidden(hash: Buffer): string {
  return `h_${hash.toString('hex', 0, 16)}`;
}

/** What answers hold is for their caller alone, and is what its type says. Pages say otherwise for themselves. */
export const answerHeaders = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

/** Takes the caller's `X-Request-Id` or makes one, and returns it on the response, with `answerHeaders`. */
export function identifyRequest(request: IncomingMessage, response: ServerResponse): string {
  if (request.requestId === undefined) {
    const given = request.headers['x-request-id'];
    request.requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : newId();
    response.setHeader('X-Request-Id', request.requestId);
    for (const name in answerHeaders)
      response.setHeader(name, answerHeaders[name as keyof typeof answerHeaders]);
  }
  return request.requestId;
}
