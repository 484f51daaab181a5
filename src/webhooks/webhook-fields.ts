import { allEventTypes } from '#libs/modules';
import { invalid, type RpcError } from '#libs/rpc';

export const URL_RULE =
  'A public https URL without a user name or password. Redirects are not followed. Operators can allow private ' +
  'addresses and http.';

export function typeNames(): string[] {
  return allEventTypes().map(({ type }) => type);
}

/** Deliberately vague: the cause would reveal details of the network. */
export function refusedUrl(): RpcError {
  return invalid([
    {
      path: 'url',
      message:
        'is not allowed: it must be an https address on the Internet. To receive events on your own machine, run npm run cli -- listen',
    },
  ]);
}

/** Sorts the types, so that the given order does not matter. */
export function inOrder<Types extends readonly string[] | null | undefined>(given: Types): Types | string[] {
  return given && typeNames().filter((type) => given.includes(type));
}
