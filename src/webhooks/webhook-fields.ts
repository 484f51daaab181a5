import { allEventTypes } from '#libs/modules';
import { invalid, type RpcError } from '#libs/rpc';
import { EXPANDED_KINDS, EXPANDED_SCOPES } from './webhook-expansion.js';

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
        'is not allowed: it must be an https address on the Internet. To receive events on your own machine, use the command listen',
    },
  ]);
}

export const EXPAND = {
  optional: true,
  min: 0,
  description:
    'Records to deliver with each event, as they are at the time of the delivery. `contact`, which needs the scope ' +
    '`contact:read`, and `petition`, which needs `petition:read`, are null if the event names none, or if it no longer exists.',
} as const;

/** The scopes of the words of `expand`. */
export const EXPAND_SCOPES = Object.fromEntries(
  EXPANDED_KINDS.map((kind) => [`expand=${kind}`, EXPANDED_SCOPES[kind]]),
);

/** Sorts the types, so that the given order does not matter. */
export function inOrder<Types extends readonly string[] | null | undefined>(given: Types): Types | string[] {
  return given && typeNames().filter((type) => given.includes(type));
}
