import { type Decider } from '#libs/event-store';
import { RpcError } from '#libs/rpc';

/** Requests per second; null is the default. Only the command line creates unlimited keys. */
export type RateLimit = number | 'unlimited' | null;

/** The specification's default, in requests per second. */
export const DEFAULT_RATE_LIMIT = 10;

export type ApiKeyDetails = {
  name: string;
  /** The 8 characters after `adv_`. They identify the key and are not secret. */
  publicId: string;
  /** SHA-256 of the secret, hexadecimal. The secret itself is shown once and not stored. */
  secretHash: string;
  scopes: string[];
  rateLimit: RateLimit;
  /** RFC 3339, null: never. */
  expiresAt: string | null;
};

export type ApiKeyEvent =
  /**
   * The hash of the secret is in `data` today. A later version can write it to `personal`, with the key as
   * subject, so that exports never contain it in plain text. That version must let a rotated key keep its
   * encryption key until the overlap ends; today `ends` destroys it immediately.
   */
  | {
      type: 'ApiKeyCreated';
      data: Omit<ApiKeyDetails, 'secretHash'> & { secretHash?: string };
      personal?: { secretHash?: string } | null;
    }
  | {
      type: 'ApiKeyRotated';
      data: {
        successorId: string;
        /** The key keeps working next to its successor for this long after the event. */
        overlapSeconds: number;
      };
    }
  | { type: 'ApiKeyRevoked'; data: Record<string, never> };

/** `revokedAt` (RFC 3339) is in the future while a rotated key still works next to its successor. */
export type KnownApiKey = ApiKeyDetails &
  (
    | { status: 'active'; revokedAt: null }
    | { status: 'rotated'; revokedAt: string; successorId: string; overlapSeconds: number }
    | { status: 'revoked'; revokedAt: string }
  );
export type ApiKey = { status: 'unknown' } | KnownApiKey;

export const apiKey: Decider<ApiKey, ApiKeyEvent> = {
  streamType: 'api-key',
  initial: { status: 'unknown' },
  events: { ApiKeyCreated: true, ApiKeyRotated: true, ApiKeyRevoked: true },
  evolve(state, event, at) {
    if (event.type === 'ApiKeyCreated') {
      // Erased, or left out of an export. No secret has an empty hash.
      const secretHash = event.personal?.secretHash ?? event.data.secretHash ?? '';
      return { ...event.data, secretHash, status: 'active', revokedAt: null };
    }
    if (state.status === 'unknown') return state;
    switch (event.type) {
      case 'ApiKeyRotated': {
        // `at` is from the log's clock, which also decides whether a key is rejected.
        const end = at.getTime() + event.data.overlapSeconds * 1_000;
        return { ...state, ...event.data, status: 'rotated', revokedAt: new Date(end).toISOString() };
      }
      case 'ApiKeyRevoked':
        return { ...state, status: 'revoked', revokedAt: at.toISOString() };
    }
  },
};

/** @throws RpcError NOT_FOUND if the key never existed. */
export function knownApiKey(state: ApiKey): KnownApiKey {
  if (state.status === 'unknown') {
    throw new RpcError('NOT_FOUND', 'Your organization has no API key with this apiKeyId.');
  }
  return state;
}

export function createApiKey(details: ApiKeyDetails): ApiKeyEvent[] {
  return [{ type: 'ApiKeyCreated', data: details }];
}

/** Rotating a key again in the same way changes nothing: it already has a successor. */
export function rotateApiKey(
  state: ApiKey,
  { successorId, overlapSeconds, now }: { successorId: string; overlapSeconds: number; now: Date },
): ApiKeyEvent[] {
  const key = knownApiKey(state);
  switch (key.status) {
    case 'active':
      if (key.expiresAt !== null && new Date(key.expiresAt) <= now) throw cannotRotate('has expired');
      return [{ type: 'ApiKeyRotated', data: { successorId, overlapSeconds } }];
    case 'rotated':
      if (key.overlapSeconds === overlapSeconds) return [];
      throw new RpcError(
        'CONFLICT',
        `This API key was already rotated with overlapSeconds ${key.overlapSeconds}. Its successor is ` +
          `${key.successorId}. Rotate that key, or revoke this one to end it immediately.`,
        { reason: 'KEY_ROTATED' },
      );
    case 'revoked':
      throw cannotRotate('was revoked');
  }
}

function cannotRotate(why: string): RpcError {
  return new RpcError('CONFLICT', `This API key ${why} and cannot be rotated. Create a new one.`, {
    reason: 'KEY_ENDED',
  });
}

/** Revoking an ended key changes nothing; a rotated key that still works ends immediately. */
export function revokeApiKey(state: ApiKey, now: Date): ApiKeyEvent[] {
  const key = knownApiKey(state);
  switch (key.status) {
    case 'active':
      return [{ type: 'ApiKeyRevoked', data: {} }];
    case 'rotated':
      return new Date(key.revokedAt) <= now ? [] : [{ type: 'ApiKeyRevoked', data: {} }];
    case 'revoked':
      return [];
  }
}
