import { type IncomingMessage, type ServerResponse } from 'node:http';
import { newId } from '#libs/random';
import { type Actor, type Keyring } from '#libs/event-store';

/** The authenticated sender of a request. */
export type Caller = {
  organizationId: string;
  actor: Actor;
  scopes: readonly string[];
  /** Anyone can have the caller's key, so its requests count for the client's address only. */
  isPublic?: true;
};

declare module 'node:http' {
  interface IncomingMessage {
    /** Set by the authentication if the key is valid. */
    caller?: Caller;
    /**
     * Throws once the caller has lost access, because their key was revoked or has expired. Set with `caller`.
     */
    requireCaller?: () => Promise<void>;
    /** The request id as the client knows it. Only for its own response. */
    requestId?: string;
    /** Set while an operation works on the request, even if the client has disconnected. */
    isWorkedOn?: boolean;
    /** Replaces the JSON of an error with a page, for users in a browser. */
    errorPage?: (status: number) => { headers: Readonly<Record<string, string>>; body: Buffer };
    /** Called by the operation when it has finished with the request. */
    onWorked?: () => void;
    /**
     * The request id in logs and events: `storedRequestId`. Set by the request log, which every request passes.
     */
    storedRequestId?: string;
  }
}

/** Whether a path belongs to the API, not to health checks or documentation. */
export function isOfApi(url: string): boolean {
  return url.startsWith('/v1/') || url.startsWith('/log/');
}

/** 1–128 visible ASCII characters, which are safe in headers, logs and events. */
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/** UUIDs, ULIDs, trace ids, and hashes that were stored before. No name or address has such a form. */
const HARMLESS = new RegExp(
  '^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-7][0-9a-hjkmnp-tv-z]{25}|(?:h_)?[0-9a-f]{32})$',
  'i',
);

/**
 * The form of a request id that is logged and stored with events, which no erasure can reach. It is the id
 * itself if its form cannot contain personal data. Otherwise it is `h_` and 128 bits of its keyed hash, which
 * no one can guess without the key.
 */
export function storedRequestId(requestId: string, keyring: Pick<Keyring, 'hash'>): string {
  return HARMLESS.test(requestId) ? requestId : hidden(keyring.hash('request id', requestId));
}

/** The format of a keyed hash that replaces a text. */
export function hidden(hash: Buffer): string {
  return `h_${hash.toString('hex', 0, 16)}`;
}

/**
 * Responses are only for their caller, and browsers must not guess their type. Pages override these headers.
 */
export const answerHeaders = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

/** Uses the client's `X-Request-Id` or creates one. Sets it on the response, with `answerHeaders`. */
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
