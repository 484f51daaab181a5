import { type Request, type Response } from 'express';

/** Browsers return a `__Host-` cookie only to the host that set it, over HTTPS and for all paths (RFC 6265bis, 4.1.3.2). */
const SECURE = '__Host-session';
/** The name for plain HTTP on the machine itself, where some browsers do not accept the other name. */
const PLAIN = 'session';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/** Whether the connection is encrypted or stays on this machine. People may sign in only over such connections. */
export function isPrivate(request: Request): boolean {
  return request.secure || isLoopback(request);
}

/** Whether the request's host is the machine itself. */
export function isLoopback(request: Request): boolean {
  return LOOPBACK.test(request.headers.host ?? '');
}

const LOOPBACK_ADDRESS = /^(::ffff:)?127(\.\d{1,3}){3}$|^::1$/;
/** Headers that proxies add. */
const PASSED_ON = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
];

/**
 * Whether the request comes from the machine itself. `Host` can be forged, but the loopback address cannot, and a proxy on the machine
 * adds its headers.
 */
export function isFromThisMachine(request: Request): boolean {
  const { headers, socket } = request;
  return (
    isLoopback(request) &&
    LOOPBACK_ADDRESS.test(socket.remoteAddress ?? '') &&
    PASSED_ON.every((name) => headers[name] === undefined)
  );
}

export function readCookie(request: Request): string | undefined {
  const name = request.secure ? SECURE : PLAIN;
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const [key, value] = part.trim().split('=', 2);
    if (key === name && value !== undefined && /^[\w-]{43}$/.test(value)) return value;
  }
  return undefined;
}

/** @param token empty to delete the cookie. */
export function writeCookie(request: Request, response: Response, token: string, days: number): void {
  const name = request.secure ? `${SECURE}=${token}; Secure` : `${PLAIN}=${token}`;
  const age = token === '' ? 0 : days * 24 * 3_600;
  response.append('Set-Cookie', `${name}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${age}`);
}

/**
 * Whether a page of this server sent a form. Browsers send the origin with it. A form without an origin counts as foreign, because
 * forms change data.
 */
export function isFromHere(request: Request): boolean {
  const { origin, host, 'sec-fetch-site': site } = request.headers;
  if (site !== undefined && site !== 'same-origin') return false;
  if (origin === undefined) return site === 'same-origin';
  const here = `${request.protocol}://${host ?? ''}`;
  return URL.canParse(here) && new URL(here).origin === origin;
}

/** Whether something other than a browser sent a form, such as the server of a mail program. */
export function isFromProgram({ headers }: Request): boolean {
  return headers.origin === undefined && headers['sec-fetch-site'] === undefined;
}

/** Marks browsers in which a person has signed in before. The value is opaque. */
const KNOWN = 'known';
const KNOWN_DAYS = 365;

export function rememberKnown(request: Request, response: Response, known: string): void {
  const secure = request.secure ? '; Secure' : '';
  const age = KNOWN_DAYS * 24 * 3_600;
  response.append(
    'Set-Cookie',
    `${KNOWN}=${known}; Path=/dashboard/sign-in; HttpOnly; SameSite=Lax; Max-Age=${age}${secure}`,
  );
}

export function readKnown(request: Request): string | undefined {
  return new RegExp(`(?:^|; )${KNOWN}=([\\w-]{43})(?:;|$)`).exec(request.headers.cookie ?? '')?.[1];
}

/** The page to return to after signing in. Kept for as long as a sign-in link is valid. */
const WANTED = 'wanted';
const WANTED_SECONDS = 900;
/** Matches only pages of organizations, which prevents open redirects. */
const PAGE = /^\/dashboard\/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}(\/[\w-]+)*(\?[\w=&%.+-]*)?$/;
const LONGEST_PAGE = 1_000;

/** Excludes downloads, because they would not show that the person is signed in. */
function isPage(path: string): boolean {
  return path.length <= LONGEST_PAGE && PAGE.test(path) && !/\/(export|mail)(\?|$)/.test(path);
}

/** @param path undefined to delete the cookie. */
export function rememberWanted(request: Request, response: Response, path: string | undefined): void {
  if (path !== undefined && !isPage(path)) return;
  const [value, age] = path === undefined ? ['', 0] : [encodeURIComponent(path), WANTED_SECONDS];
  const secure = request.secure ? '; Secure' : '';
  response.append(
    'Set-Cookie',
    `${WANTED}=${value}; Path=/dashboard; HttpOnly; SameSite=Lax; Max-Age=${age}${secure}`,
  );
}

export function readWanted(request: Request): string | undefined {
  const [, value = ''] = new RegExp(`(?:^|; )${WANTED}=([^;]*)`).exec(request.headers.cookie ?? '') ?? [];
  try {
    const path = decodeURIComponent(value);
    return isPage(path) ? path : undefined;
  } catch {
    return undefined;
  }
}
