import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Projection, RecordTable, schemaOf } from '#libs/projections';
import { type ApiKey, apiKey, type ApiKeyEvent, knownApiKey, type RateLimit } from './api-key.js';

const table = new RecordTable(
  apiKey,
  'api_keys',
  {
    name: { type: 'text', index: true },
    public_id: { type: 'text' },
    revoked_at: { type: 'timestamptz' },
  },
  (state) =>
    state.status === 'unknown'
      ? undefined
      : { name: state.name, public_id: state.publicId, revoked_at: state.revokedAt },
);

export const apiKeysProjection: Projection<ApiKeyEvent> = {
  name: 'api-keys',
  version: 3,
  handles: ['ApiKeyCreated', 'ApiKeyRotated', 'ApiKeyRevoked'],
  tables: `
    ${table.definition}
    -- Not by organization first: which one it is, is what the lookup finds out.
    CREATE INDEX api_keys_by_public_id ON api_keys (public_id);
  `,
  apply: (events, transaction) => table.apply(events, transaction),
  get snapshots() {
    return table.snapshots(this);
  },
};

export const API_KEYS_TABLE = `${schemaOf(apiKeysProjection)}.api_keys`;

/**
 * What every request asks. Whether a key has ended is told by the database's clock, which also said when: an
 * instance whose own clock is slow would go on taking a revoked key.
 */
export const FIND_BY_PUBLIC_ID = `
  SELECT id, organization_id, state, coalesce(revoked_at <= clock_timestamp(), false) AS ended
  FROM ${API_KEYS_TABLE} WHERE public_id = $1`;

/** A key as requests are compared with it. */
export type StoredKey = {
  id: string;
  organizationId: string;
  secretHash: Buffer;
  scopes: string[];
  rateLimit: RateLimit;
  expiresAt: Date | null;
  /** Revoked, or rotated and its overlap over. */
  ended: boolean;
};

@Injectable()
export class ApiKeysTable {
  constructor(private readonly source: DataSource) {}

  /** All keys with this public id: one, but for a chance of 1 in 10^14. */
  async findByPublicId(publicId: string): Promise<StoredKey[]> {
    const rows = await this.source.query<
      { id: string; organization_id: string; state: ApiKey; ended: boolean }[]
    >(FIND_BY_PUBLIC_ID, [publicId]);
    return rows.map(({ id, organization_id, state, ended }) => {
      const { secretHash, scopes, rateLimit, expiresAt } = knownApiKey(state);
      return {
        id,
        organizationId: organization_id,
        secretHash: Buffer.from(secretHash, 'hex'),
        scopes,
        rateLimit,
        expiresAt: expiresAt === null ? null : new Date(expiresAt),
        ended,
      };
    });
  }
}
