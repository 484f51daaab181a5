import { currentScope, recordSchema, scopeSchema, timestamp, timestampOrNull } from '#libs/rpc';
import { type RecordRow, replayable } from '#libs/projections';
import { apiKey, type ApiKey, DEFAULT_RATE_LIMIT, knownApiKey } from './api-key.js';

export const apiKeySchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  name: { type: 'string' },
  prefix: { type: 'string', description: 'The beginning of the key. The rest is secret.' },
  scopes: { type: 'array', items: scopeSchema },
  rateLimit: {
    type: ['integer', 'null'],
    description: 'Requests per second. `null` means no limit, which only the operator can set.',
  },
  expiresAt: timestampOrNull,
  lastUsedAt: { ...timestampOrNull, description: 'Accurate to a few seconds.' },
  revokedAt: {
    ...timestampOrNull,
    description:
      'When the key ended, by revocation or rotation. In the future while a rotated key still works next to its ' +
      'successor.',
  },
  organizationId: { type: 'string' },
});

export const apiKeyIdSchema = recordSchema({ apiKeyId: { type: 'string' } });

export const newApiKeySchema = recordSchema({
  apiKeyId: { type: 'string' },
  key: {
    type: ['string', 'null'],
    description:
      'The value to send as `Authorization: Bearer`. Shown only once: repeating the request returns `null`.',
  },
});

export type ApiKeyRecord = {
  id: string;
  createdAt: Date;
  name: string;
  prefix: string;
  scopes: string[];
  rateLimit: number | null;
  expiresAt: string | null;
  lastUsedAt: Date | null;
  revokedAt: string | null;
  organizationId: string;
};

/** API keys from an exported history, which does not record when they were used. */
export const replayableApiKeys = replayable('api-key', apiKey, (organization_id, id, { state, createdAt }) =>
  apiKeyRecord({ organization_id, id, created_at: createdAt!, state }, null),
);

/** The key as the API returns it. Field by field, because the state also holds the hash of its secret. */
export function apiKeyRecord(
  row: Pick<RecordRow<ApiKey>, 'organization_id' | 'id' | 'created_at' | 'state'>,
  lastUsedAt: Date | null,
): ApiKeyRecord {
  const { name, publicId, scopes, rateLimit, expiresAt, revokedAt } = knownApiKey(row.state);
  return {
    id: row.id,
    createdAt: row.created_at,
    name,
    prefix: `adv_${publicId}`,
    scopes: scopes.map(currentScope),
    rateLimit: rateLimit === 'unlimited' ? null : (rateLimit ?? DEFAULT_RATE_LIMIT),
    expiresAt,
    lastUsedAt,
    revokedAt,
    organizationId: row.organization_id,
  };
}
