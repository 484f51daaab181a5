import { allEventTypes } from '#libs/modules';
import { invalid, type RpcError } from '#libs/rpc';

export const URL_RULE = 'A public https address without user name and password. Redirects are not followed.';

/** What a webhook may choose of. */
export function typeNames(): string[] {
  return allEventTypes().map(({ type }) => type);
}

/** That is all that is said: why not would tell of the network. */
export function refusedUrl(): RpcError {
  return invalid([{ path: 'url', message: 'is not allowed: it must be an https address on the Internet' }]);
}

/** The same types in one order, however they were given. */
export function inOrder<Types extends readonly string[] | null | undefined>(given: Types): Types | string[] {
  return given && typeNames().filter((type) => given.includes(type));
}
