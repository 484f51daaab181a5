import { RpcError } from '#libs/rpc';
import { type ApiKeyDetails, DEFAULT_RATE_LIMIT, type RateLimit } from './api-key.js';
import { requireScopes } from './scopes.js';

export type Grant = Pick<ApiKeyDetails, 'scopes' | 'rateLimit' | 'expiresAt'>;

/** Requests per second; Infinity for no limit. */
export function requestsPerSecond(rateLimit: RateLimit): number {
  return rateLimit === 'unlimited' ? Infinity : (rateLimit ?? DEFAULT_RATE_LIMIT);
}

/**
 * Without this check, a key with few rights could create or obtain a key with more.
 *
 * @param advice what to do instead if the rate limit or the expiry is exceeded.
 * @throws RpcError INSUFFICIENT_PERMISSIONS naming what `own` lacks of `granted`.
 */
export function requireWithin(
  own: Grant,
  granted: Grant,
  advice: { scopes: string; rateLimit: string; expiresAt: string },
): void {
  requireScopes(own.scopes, granted.scopes, advice.scopes);
  const rate = requestsPerSecond(own.rateLimit);
  if (requestsPerSecond(granted.rateLimit) > rate) {
    throw beyond(`a rate limit up to its own, and this one has ${rate} per second. ${advice.rateLimit}`);
  }
  if (own.expiresAt !== null && !(granted.expiresAt !== null && isWithin(granted.expiresAt, own.expiresAt))) {
    throw beyond(`a lifetime up to its own, and this one expires at ${own.expiresAt}. ${advice.expiresAt}`);
  }
}

function beyond(what: string): RpcError {
  return new RpcError('INSUFFICIENT_PERMISSIONS', `A key can only grant ${what}`, {
    reason: 'KEY_EXCEEDS_YOURS',
  });
}

function isWithin(moment: string, end: string): boolean {
  return Date.parse(moment) <= Date.parse(end);
}
