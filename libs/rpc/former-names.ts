import { type IncomingMessage, type ServerResponse } from 'node:http';

/**
 * Former names of services, which keep working until `SUNSET`: in the paths of operations, and in scopes.
 *
 * Events and rows keep the former names of scopes in this release, because instances of the previous one read them. The next release can
 * write the new ones, and the release after that can delete this file.
 */
const FORMER = { event: 'history' } as const;

/** RFC 9745: seconds since 1970, here 2026-12-01. */
const DEPRECATED = '@1796083200';
/** RFC 8594. */
const SUNSET = 'Fri, 31 Dec 2027 23:59:59 GMT';

const OLD_PATHS = Object.entries(FORMER).map(([former, name]) => [`/v1/${former}.`, `/v1/${name}.`] as const);

/** `event:read` as `history:read`; any other scope as it is. */
export function currentScope(scope: string): string {
  return renamed(scope, Object.entries(FORMER));
}

export function storedScope(scope: string): string {
  return renamed(
    scope,
    Object.entries(FORMER).map(([former, name]) => [name, former] as const),
  );
}

function renamed(scope: string, names: readonly (readonly [string, string])[]): string {
  const [service, right] = scope.split(':');
  const found = names.find(([from]) => from === service);
  return found && right !== undefined ? `${found[1]}:${right}` : scope;
}

/**
 * Routes a request for an operation's former path to its current one, and marks the response as deprecated.
 *
 * @param isKnown whether the operation exists.
 */
export function followFormerName(
  request: IncomingMessage,
  response: ServerResponse,
  isKnown: (path: string) => boolean,
): void {
  const url = request.url ?? '';
  const renaming = OLD_PATHS.find(([from]) => url.startsWith(from));
  if (!renaming) return;
  const [from, to] = renaming;
  const current = `${to}${url.slice(from.length)}`;
  const [path = ''] = current.split('?', 1);
  if (!isKnown(path)) return;
  request.url = current;
  response.setHeader('Deprecation', DEPRECATED);
  response.setHeader('Sunset', SUNSET);
  response.setHeader('Link', `<${path}>; rel="successor-version"`);
}
