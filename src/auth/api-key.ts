import { type Decider } from '#libs/event-store';
import { RpcError } from '#libs/rpc';

/** Requests per second; null is the default of 10. */
export type RateLimit = number | 'unlimited' | null;

export type ApiKeyDetails = {
  name: string;
  /** The 8 characters after `adv_`: they find the key, and may be shown. */
  publicId: string;
  /** SHA-256 of the secret, hexadecimal; the secret itself is shown once and kept nowhere. */
  secretHash: string;
  scopes: string[];
  rateLimit: RateLimit;
  /** RFC 3339, null: never. */
  expiresAt: string | null;
};

export type ApiKeyEvent =
  { type: 'ApiKeyCreated'; data: ApiKeyDetails } | { type: 'ApiKeyRevoked'; data: Record<string, never> };

export type ApiKey = { status: 'unknown' } | ({ status: 'active' | 'revoked' } & ApiKeyDetails);

export const apiKey: Decider<ApiKey, ApiKeyEvent> = {
  streamType: 'api-key',
  initial: { status: 'unknown' },
  evolve(state, event) {
    switch (event.type) {
      case 'ApiKeyCreated':
        return { status: 'active', ...event.data };
      case 'ApiKeyRevoked':
        return state.status === 'unknown' ? state : { ...state, status: 'revoked' };
    }
  },
};

export function createApiKey(details: ApiKeyDetails): ApiKeyEvent[] {
  return [{ type: 'ApiKeyCreated', data: details }];
}

/** Revoking the revoked changes nothing. */
export function revokeApiKey(state: ApiKey): ApiKeyEvent[] {
  switch (state.status) {
    case 'unknown':
      throw new RpcError('NOT_FOUND', 'There is no API key with this apiKeyId in this organization.');
    case 'active':
      return [{ type: 'ApiKeyRevoked', data: {} }];
    case 'revoked':
      return [];
  }
}
